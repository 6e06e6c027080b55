"""The prose inside MedQA-CS's items: doorway sheets, dialogues, closures, patient notes.

Of these texts only the case that the paper prints (2024, Appendix B) and the beginnings that the authors' description
shows were known, so that headings are looked for in any of their likely spellings, and whoever calls is told what fits
none of them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from openosce.cases.readers.agentclinic import age_and_sex

_QUOTES = "\"'“”‘’„"
_BULLET = re.compile(r"^\s*(?:[-*•·]\s*|\d{1,2}[.)]\s+)")
_NOTHING = re.compile(r"\W*(?:n\s*/?\s*a|none(?: specific)?|not applicable|)\W*", re.IGNORECASE)


def as_text(value: object) -> str:
    """Any value as text: lists and objects line by line, nothing as no text."""
    if isinstance(value, dict):
        return "\n".join(f"{key}: {as_text(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return "\n".join(map(as_text, value))
    return "" if value is None else str(value).strip()


def says_nothing(text: str) -> bool:
    """Whether a text stands for none: blank, `N/A`, `None`, `None specific`."""
    return _NOTHING.fullmatch(text) is not None


def without_bullet(line: str) -> str:
    """A line without its bullet or number."""
    return _BULLET.sub("", line).strip()


def lines_of(text: str) -> list[str]:
    """The lines that hold anything, without bullets and numbers."""
    return [line for line in map(without_bullet, text.splitlines()) if line]


def under_headings(text: str, headings: str) -> dict[str, str]:
    """A text in parts, each under its heading in lower case; what stands before the first is under "".

    `headings` is a pattern of alternatives; a heading begins a line, and a colon or the line's end follows it.
    """
    found: dict[str, str] = {}
    name, start = "", 0
    for head in re.finditer(rf"^[ \t*#]*({headings})[ \t*]*(?::[ \t*]*|$)", text, re.IGNORECASE | re.MULTILINE):
        found[name] = f"{found.get(name, '')}\n{text[start : head.start()]}".strip()
        name, start = head[1].lower(), head.end()
    found[name] = f"{found.get(name, '')}\n{text[start:]}".strip()
    return {name: part for name, part in found.items() if part}


@dataclass(frozen=True)
class Opening:
    """What the sheet on the door tells."""

    name: str
    age: str | None
    sex: str | None
    informant: str | None
    setting: str | None
    """The rest of the opening scenario: where, and what for."""
    vital_signs: dict[str, str]
    tasks: list[str]


_SCENARIO = re.compile(
    r"(?:the\s+(?P<informant>\w+)\s+of\s+)?(?P<name>[^,\n]{1,80}),\s+(?P<who>[^,]*?\b(?:old|newborn)\b[^,]*),\s+(?P<rest>.+)",
    re.IGNORECASE | re.DOTALL,
)
_COMES = re.compile(r"(?:comes|came|presents)\s+(?:in)?to\s+(?:the\s+|an?\s+)?(?=\w)", re.IGNORECASE)
_AGE_AND_SEX = re.compile(
    r"\b(?:an?|\d{1,3}[ -](?:year|month|week|day|hour)s?[ -]old|newborn"
    r"|male|man|boy|gentleman|female|woman|girl|lady)\b",
    re.IGNORECASE,
)


def read_opening(text: str) -> Opening:
    """The opening scenario, vital signs and tasks; a text without headings is a scenario."""
    parts = under_headings(text, "opening scenario|vital signs?|examinee tasks?")
    scenario = " ".join(f"{parts.pop('', '')} {parts.pop('opening scenario', '')}".split())
    vital_signs = parts.pop("vital signs", "") or parts.pop("vital sign", "")
    tasks = parts.pop("examinee tasks", "") or parts.pop("examinee task", "")
    found = _SCENARIO.fullmatch(scenario)
    told = age_and_sex(found["who"] if found else scenario)
    return Opening(
        name=found["name"] if found else "not told",
        age=told["age"],
        sex=told["sex"],
        informant=found["informant"] if found else None,
        setting=(_setting(found["who"], found["rest"]) if found else scenario) or None,
        vital_signs=_vital_signs(vital_signs),
        tasks=lines_of(tasks),
    )


def _setting(who: str, rest: str) -> str:
    """The scenario without name, age and sex; `who` stays where it tells more than these."""
    rest = _COMES.sub("", rest, count=1) if _COMES.match(rest) else rest
    is_told = not _AGE_AND_SEX.sub("", who).strip()
    return rest.rstrip(".") if is_told else f"{who}, {rest}".rstrip(".")


def _vital_signs(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines_of(text):
        name, colon, reading = line.partition(":")
        name, reading = (name.strip(), reading.strip()) if colon and reading.strip() else ("vital signs", line)
        found[name] = f"{found[name]}; {reading}" if name in found else reading
    return found


_SPEAKER = (
    r"(?:doctor|physician|student|medical student|examinee|question|q"
    r"|patient(?: response)?|sp|response|answer|a)[ \t]{0,3}\d{0,3}[ \t]{0,3}:"
)
_SPEAKER_FIRST = re.compile(rf"[\s*\-]*{_SPEAKER}\s*", re.IGNORECASE)
_SPEAKER_LAST = re.compile(rf"(?:^|(?<=\W)){_SPEAKER}\s*$", re.IGNORECASE)
_TALK = re.compile(
    rf"(?P<before>.*?){_SPEAKER}\s*(?P<question>.+?)\s*^{_SPEAKER}\s*(?P<answer>.+)",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)
_QUOTED = re.compile(r"(?P<before>[^\"“]{0,120})[\"“](?P<question>[^\"”]+)[\"”]\s*(?P<answer>.*)", re.DOTALL)
_LONGEST_ROUND = 10_000
"""Characters of a round that quotes or speakers can part."""


@dataclass(frozen=True)
class Said:
    """One round as it was found."""

    question: str
    answer: str
    topic: str | None = None


def bare_question(text: str) -> str:
    """A question without the quotes around it, and without a topic or speaker before them."""
    text = text.strip()
    quoted = re.fullmatch(r"[^\"“?]{0,80}[\"“](.+)[\"”]\s*", text, re.DOTALL)
    text = quoted[1] if quoted else text
    return _SPEAKER_FIRST.sub("", text, count=1).strip() if _SPEAKER_FIRST.match(text) else text


def read_round(piece: str, questions: Sequence[str]) -> Said | None:
    """One round out of what a dialogue has grown by.

    Args:
        piece: The text of the round: a topic or none, the question, the answer.
        questions: What may have been asked; the longest that occurs was. Without one, quotes or speakers tell.
    """
    asked = max((q for q in questions if q and q in piece), key=len, default=None)
    if asked is not None:
        before, _, answer = piece.partition(asked)
        return Said(asked, _answer(answer), _topic(before))
    if len(piece) > _LONGEST_ROUND:
        return None
    found = _TALK.fullmatch(piece.strip()) or _QUOTED.fullmatch(piece.strip())
    return Said(found["question"].strip(), _answer(found["answer"]), _topic(found["before"])) if found else None


def _answer(text: str) -> str:
    text = text.lstrip(_QUOTES + " \t\r\n").strip()
    return _SPEAKER_FIRST.sub("", text, count=1).strip() if _SPEAKER_FIRST.match(text) else text


def _topic(text: str) -> str | None:
    """What stands before a question, its speaker left out."""
    text = text.strip(_QUOTES + " \t\r\n")
    text = _SPEAKER_LAST.sub("", text) if len(text) <= _LONGEST_ROUND else text
    return text.strip(_QUOTES + " \t\r\n:|-–") or None


def read_bank(text: str) -> list[str]:
    """The questions of a question bank: those in quotes or, without quotes, one a line."""
    quoted = re.findall(r"[\"“]([^\"“”]+)[\"”]", text)
    return [one.strip() for one in quoted] or [bare_question(line) for line in lines_of(text)]


_CLOSURE_HEADS = (
    r"sample closure|closure|challenging questions?(?: to ask)?|patient(?:'s)? questions?|question|"
    r"sample (?:examinee )?(?:response|answer)|(?:question )?answer|response"
)


def read_closure(text: str) -> tuple[str, str, str]:
    """A sample closure, the challenging question, and the sample answer; blank where there is none of them."""
    parts = under_headings(text, _CLOSURE_HEADS)
    closure = parts.pop("sample closure", "") or parts.pop("closure", "") or parts.pop("", "")
    answers = [part for head, part in parts.items() if head.endswith(("answer", "response"))]
    questions = [part for head, part in parts.items() if "question" in head and not head.endswith("answer")]
    return closure, *(" ".join(said).strip(_QUOTES + " \n") for said in (questions, answers))  # type: ignore[return-value]


_NOTE_HEADS = (
    r"opening scenario|vital signs?|examinee tasks?|previous dialogue|chat history|(?:sample )?closure|patient note|"
    r"history|physical exam(?:ination)?s?(?: findings?)?|differential diagnos[ei]s|diagnostic work-?up"
)


def read_note(text: str) -> tuple[str, str]:
    """History and examination of a patient note, wherever in a text it stands; blank where there is none."""
    parts = under_headings(text, _NOTE_HEADS)
    history = parts.get("history", "")
    examination = next((part for head, part in reversed(parts.items()) if head.startswith("physical exam")), "")
    if not history:
        begun = re.search(r"^[ \t*#]*HPI[ \t*]*:", text, re.MULTILINE)
        history = under_headings(text[begun.start() :], _NOTE_HEADS).get("", "") if begun else ""
    return history, examination
