// The conversations of the page: unpacked when somebody wants to read them. All text goes in by textContent.
"use strict";
(() => {
  const PAGE = 50;
  const byId = (id) => document.getElementById(id);
  const packs = document.querySelectorAll("script.pack");
  const unpacked = new Map();
  let index = null;
  let found = [];
  let searched = null;
  let search = 0;

  const make = (tag, className, text) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined && text !== null) node.textContent = text;
    return node;
  };

  async function unpack(node) {
    const bytes = Uint8Array.from(atob(node.textContent), (sign) => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  async function conversation(n) {
    const pack = Math.floor(n / index.pack);
    if (!unpacked.has(pack)) unpacked.set(pack, unpack(packs[pack]));
    return (await unpacked.get(pack))[n % index.pack];
  }

  const row = (n) => {
    const [doctor, condition, specialty, ending, caseId, trial, verdicts] = index.rows[n];
    return { doctor, condition, specialty, ending, caseId, trial, verdicts };
  };

  // A score that is no share of right answers has no right and wrong: a section's 0 to 100, for instance.
  const ofShare = (value) => (value === 1 ? "right" : value === 0 ? "wrong" : "partly");
  const verdictOf = (value) => (value === null ? "missing" : index.is_share ? ofShare(value) : "scored");

  const verdictNames = () => (index.is_share ? ["right", "wrong", "partly", "missing"] : ["scored", "missing"]);

  function fill(id, all, names) {
    const select = byId(id);
    for (const [value, name] of [["", all], ...names.map((name, n) => [String(n), name])]) {
      const option = make("option", "", name);
      option.value = value;
      select.append(option);
    }
    select.addEventListener("change", filter);
    if (names.length < 2) select.parentElement.hidden = true;
  }

  function chosen(id) {
    const value = byId(id).value;
    return value === "" ? null : Number(value);
  }

  function matches(n) {
    const { doctor, specialty, ending, verdicts } = row(n);
    const is = (id, value) => chosen(id) === null || chosen(id) === value;
    const arm = chosen("filter-arm");
    const verdict = chosen("filter-verdict");
    const looked = arm === null ? verdicts : [verdicts[arm]];
    return is("filter-doctor", doctor) && is("filter-specialty", specialty) && is("filter-ending", ending) &&
      (verdict === null || looked.some((value) => verdictOf(value) === verdictNames()[verdict]));
  }

  // What a search looks through: one lower-case text a conversation, made once.
  async function texts(tell) {
    if (searched !== null) return searched;
    const made = [];
    for (let n = 0; n < index.rows.length; n += 1) {
      if (n % index.pack === 0) tell(n);
      const { messages, answers, diagnosis } = await conversation(n);
      const parts = [row(n).caseId, diagnosis, ...messages.map((said) => said[2]), ...answers.map((given) => given[1])];
      made.push(parts.filter(Boolean).join("\n").toLowerCase());
    }
    searched = made;
    return searched;
  }

  async function filter() {
    search += 1;
    const mine = search;
    const wanted = byId("filter-text").value.trim().toLowerCase();
    let kept = [...index.rows.keys()].filter(matches);
    if (wanted) {
      const haystack = await texts((n) => { byId("reader-count").textContent = `Searching: ${n} of ${index.rows.length}`; });
      if (mine !== search) return;
      kept = kept.filter((n) => haystack[n].includes(wanted));
    }
    found = kept;
    byId("reader-count").textContent = `${found.length} of ${index.rows.length} conversations`;
    byId("reader-list").replaceChildren();
    more();
  }

  function more() {
    const list = byId("reader-list");
    const start = list.children.length;
    for (const n of found.slice(start, start + PAGE)) list.append(entry(n));
    byId("reader-more").hidden = list.children.length >= found.length;
  }

  function entry(n) {
    const { doctor, caseId, trial, ending, verdicts } = row(n);
    const count = (name) => verdicts.filter((value) => verdictOf(value) === name).length;
    const marks = verdictNames().filter(count).map((name) => `${count(name)} ${name}`).join(", ");
    const button = make("button", "", caseId);
    button.type = "button";
    button.dataset.n = n;
    const who = index.doctors.length > 1 ? `${index.doctors[doctor]}, ` : "";
    button.append(make("small", "", `${who}trial ${trial}, ${index.endings[ending]}`), make("small", "", marks));
    button.addEventListener("click", () => show(n));
    const item = make("li");
    item.append(button);
    return item;
  }

  async function show(n) {
    const told = await conversation(n);
    const { doctor, condition, caseId, trial, specialty, ending } = row(n);
    const article = byId("reader-text");
    const where = [index.doctors[doctor], index.conditions.length > 1 ? index.conditions[condition] : null, `trial ${trial}`,
      index.specialties[specialty]].filter(Boolean).join(" · ");
    article.replaceChildren(make("h3", "", caseId), make("p", "note", where));
    if (told.diagnosis) article.append(make("p", "", `Reference diagnosis: ${told.diagnosis}`));
    const said = make("div");
    said.append(...told.messages.map(message));
    const ended = `Ended: ${index.endings[ending]}${told.error ? `, ${told.error}` : ""}`;
    said.append(make("p", "", index.endings[ending] === "not_held" ? "No conversation was held." : ended));
    const isPlanned = ([arm]) => index.arms.includes(arm);
    const planned = [...told.answers.filter(isPlanned), ...told.answers.filter((one) => !isPlanned(one))];
    const given = make("div", "answers");
    given.append(make("h3", "", "Answers and grades"), ...planned.flatMap((one) => answer(one, n)));
    const both = make("div", told.messages.length ? "both" : "alone"); // answers alone have all the room
    both.append(said, given);
    article.append(both);
    for (const button of byId("reader-list").querySelectorAll("button")) {
      button.setAttribute("aria-current", String(button.dataset.n === String(n)));
    }
    history.replaceState(null, "", `#conversation-${n}`);
    article.focus({ preventScroll: true });
    article.scrollIntoView({ block: "nearest" });
    if (article.getBoundingClientRect().top < 0) article.scrollIntoView();
  }

  function message([speaker, listener, text]) {
    const node = make("div", speaker === "doctor" ? "message doctor" : "message");
    node.append(make("b", "", listener ? `${speaker} to ${listener}` : speaker), make("p", "", text));
    return node;
  }

  function answer([arm, text, missing, scores], n) {
    const at = index.arms.indexOf(arm);
    const value = at < 0 ? undefined : row(n).verdicts[at];
    const head = make("h4", "", `${arm} `);
    if (value !== undefined) {
      const verdict = verdictOf(value);
      head.append(make("span", verdict, verdict === "partly" ? `partly right (${value})` : verdict === "scored" ? String(value) : verdict));
    }
    const body = [];
    if (text) body.push(make("p", "text", text));
    if (missing) body.push(make("p", "note", `missing: ${missing}`));
    if (scores.length) body.push(grades(scores));
    if (value !== undefined) return [head, ...body];
    const folded = make("details"); // what the study planned no verdict for, the summary for instance
    folded.append(make("summary", "", arm), ...body);
    return [folded];
  }

  function grades(scores) {
    const box = make("details");
    const headline = scores.find((score) => score[2] === index.policy && index.graders.includes(score[3])) || scores[0];
    const ground = headline[4] || headline[5];
    box.append(make("summary", "note", `${scores.length} grade${scores.length > 1 ? "s" : ""}${ground ? `: ${ground}` : ""}`));
    const table = make("table");
    const line = (tag, cells) => {
      const tr = make("tr");
      tr.append(...cells.map((cell) => make(tag, "prose", cell)));
      return tr;
    };
    table.append(line("th", ["score", "of", "policy", "graded by", "on the ground of"]));
    for (const [metric, value, policy, grader, evidence, missing] of scores) {
      const shown = value === null ? "none" : String(value);
      table.append(line("td", [shown, metric, policy, grader, [evidence, missing].filter(Boolean).join("; ")]));
    }
    const frame = make("div", "table");
    frame.append(table);
    box.append(frame);
    return box;
  }

  async function open() {
    if (index === null) {
      byId("reader-open").hidden = true;
      index = await unpack(byId("pack-index"));
      fill("filter-doctor", "all", index.doctors);
      fill("filter-arm", "any", index.arms);
      fill("filter-verdict", "any", verdictNames());
      fill("filter-specialty", "all", index.specialties);
      fill("filter-ending", "all", index.endings);
      let waiting = 0;
      byId("filter-text").addEventListener("input", () => {
        clearTimeout(waiting);
        waiting = setTimeout(filter, 250);
      });
      byId("reader-filters").addEventListener("submit", (event) => { event.preventDefault(); filter(); });
      byId("reader-more").addEventListener("click", more);
      byId("reader").hidden = false;
      await filter();
    }
  }

  // #conversations opens the reader, #conversation-12 the conversation of that number.
  async function follow() {
    const asked = /^#conversations?(?:-(\d+))?$/.exec(location.hash);
    if (!asked) return;
    await open();
    if (asked[1] !== undefined && Number(asked[1]) < index.rows.length) await show(Number(asked[1]));
  }

  if (typeof DecompressionStream === "undefined") {
    byId("reader-note").textContent = "Reading them here needs a browser of 2023 or later.";
    return;
  }
  byId("reader-note").hidden = true;
  byId("reader-open").hidden = false;
  byId("reader-open").addEventListener("click", open);
  window.addEventListener("hashchange", follow);
  follow();
})();
