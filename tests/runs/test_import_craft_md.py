"""CRAFT-MD's released results as a run: every irregularity of that schema, and the 60 released cases."""

import csv
import gzip
import json
import sqlite3
from itertools import islice

import pytest

from openosce.cases import read_cases
from openosce.encounters import EndReason
from openosce.errors import InputError, ResultsFileError, RunFolderError
from openosce.models import load_prices, load_prompts
from openosce.runs import to_study
from openosce.runs.folder import RunReader
from openosce.runs.imports.craft_md_run import import_craft_md, prepare_craft_md
from openosce.runs.imports.craft_md_scores import EXPERIMENTS
from openosce.runs.imports.irregular import Irregular, Tally, read_reply, read_verdict
from openosce.runs.manifest import build_manifest

COLUMNS = "case_vignette choice_1 choice_2 choice_3 choice_4 answer category dataset case_id".split()
TABLE = "model case_id category dataset experiment trial valid correct response_kind n_choices_in_response".split()
PUBLISHED, RULE, GRADER = "as_published@1", "options", "craft-md/grader"
VIGNETTE = "A man of 60 has a hot, swollen big toe."
TALK = [
    {"role": "system", "content": "You are a doctor."},
    {"role": "assistant", "content": "Hi! What brings you here?"},
    {"role": "user", "content": "My toe hurts."},
    {"role": "assistant", "content": "Final Diagnosis: Gout"},
]


def a_trial(**changes):
    """A regular trial; `None` as `...` leaves a key out."""
    trial = {"multiturn_conversation": TALK, "summarized_conversation": "The toe hurts."}
    for name in EXPERIMENTS:
        trial[name] = "Gout"
        if name.endswith("_frq"):
            trial |= {f"extracted_ans_{name}": "gout", f"evaluation_{name}": 1}
    return {key: value for key, value in (trial | changes).items() if value is not ...}


def a_file(case_id="case_1", answer="gout", **changes):
    head = {"case_id": case_id, "case_vignette": VIGNETTE, "question": "What is it?", "correct_ans": answer}
    whole = head | {f"trial_{n}": a_trial() for n in range(5)} | changes
    return {key: value for key, value in whole.items() if value is not ...}


def a_row(experiment="vignette_mcq", **changes):
    row = {
        **{"model": "tabled", "case_id": "case_1", "category": "Rheumatology", "dataset": "medqa"},
        **{"experiment": experiment, "trial": "0", "valid": "1", "correct": "1", "response_kind": "ok"},
        "n_choices_in_response": "1",
    }
    return row | changes


@pytest.fixture
def cases(tmp_path):
    path = tmp_path / "cases.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for case_id, answer in (("case_2", " Gout"), ("case_1", "Gout"), ("case_10", "Cellulitis")):
            choices = {f"choice_{n}": name for n, name in enumerate(("Gout", "Sepsis", "Bursitis", "Cellulitis"), 1)}
            case = {"case_vignette": f"{VIGNETTE} What is it?", "answer": answer, "case_id": case_id}
            writer.writerow(case | choices | {"category": "Rheumatology", "dataset": "medqa"})
    return path


@pytest.fixture
def folder(tmp_path):
    """Write results files into a model's folder."""

    def write(*files, name="one", names=None):
        place = tmp_path / "results" / name
        place.mkdir(parents=True, exist_ok=True)
        for n, content in enumerate(files):
            file = names[n] if names else f"{content['case_id']}.json"
            (place / file).write_text(content if isinstance(content, str) else json.dumps(content))
        return place

    return write


@pytest.fixture
def table(tmp_path):
    def write(*rows, columns=TABLE, name="table.csv"):
        path = tmp_path / name
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
        return path

    return write


@pytest.fixture
def imported(cases, tmp_path):
    """Import, and hand over the prepared import and the run's trials by doctor, case and trial."""

    def run(*paths, out="run"):
        prepared = prepare_craft_md(paths, str(cases), tmp_path / out)
        import_craft_md(prepared, lambda total, done: None, lambda trial: None)
        with RunReader(tmp_path / out) as reader:
            trials = [trial for case in reader.cases() for trial in reader.trials(case.id)]
        return prepared, {(trial.key.doctor, trial.key.case_id, trial.key.trial): trial for trial in trials}

    return run


def the_answer(trial, arm):
    return next(answer for answer in trial.answers if answer.arm == arm)


def score_of(trial, arm, policy=PUBLISHED):
    return next((score for score in the_answer(trial, arm).scores if score.policy == policy), None)


def counted(prepared, n=0):
    return dict(prepared.results[n].tally.counts)


def test_a_regular_file_becomes_five_trials_with_conversation_answers_and_scores(folder, imported):
    prepared, trials = imported(folder(a_file()))
    assert list(trials) == [("craft-md/one", "case_1", n) for n in range(5)]
    trial = trials["craft-md/one", "case_1", 0]
    said = [(message.speaker, message.listener, message.text) for message in trial.encounter.transcript]
    assert said == [
        ("doctor", "patient", "Hi! What brings you here?"),
        ("patient", "doctor", "My toe hurts."),
        ("doctor", "patient", "Final Diagnosis: Gout"),
    ]
    assert trial.encounter.ended is EndReason.DIAGNOSED
    assert [answer.arm for answer in trial.answers] == ["summary", *EXPERIMENTS.values()]
    assert the_answer(trial, "summary").text == "The toe hurts."
    choice, free = score_of(trial, "multi_turn_mcq"), score_of(trial, "multi_turn_frq")
    assert (choice.value, choice.grader) == (1.0, RULE)
    assert (free.value, free.grader, free.evidence) == (1.0, GRADER, "extracted: gout")
    assert counted(prepared) == {}


def test_choices_are_scored_by_every_policy_that_a_rule_decides_and_free_responses_as_published_only(folder, imported):
    _, trials = imported(folder(a_file(trial_0=a_trial(vignette_mcq="Gout or Sepsis"))))
    trial = trials["craft-md/one", "case_1", 0]
    marks = {score.policy: score.value for score in the_answer(trial, "vignette_mcq").scores}
    assert marks == {"paper@1": 0, "released@1": 0, "strict@1": 0, PUBLISHED: 1, "first_named@1": 1}
    assert score_of(trial, "vignette_mcq", "paper@1").evidence.startswith("ambiguous")
    assert [score.policy for score in the_answer(trial, "vignette_frq").scores] == [PUBLISHED]


def test_an_answer_with_blanks_around_it_is_wrong_as_published_and_right_by_our_rule(folder, imported):
    _, trials = imported(folder(a_file("case_2", " gout")))
    trial = trials["craft-md/one", "case_2", 0]
    assert score_of(trial, "vignette_mcq").value == 0
    assert score_of(trial, "vignette_mcq", "paper@1").value == 1


@pytest.mark.parametrize(
    ("value", "kind", "text", "reason", "published"),
    [
        (None, Irregular.NULL, None, "empty_reply: null in the results", (None, "no_answer")),
        ([None, 0], Irregular.NULL_WITH_COST, None, "empty_reply: null in the results beside a cost of 0", None),
        (
            ["Gout", 0.5],
            Irregular.TEXT_WITH_COST,
            "Gout",
            None,
            (None, "left_out: a list of the text beside a cost of"),
        ),
        (["Gout"], Irregular.TEXT_WITH_COST, "Gout", None, (None, "left_out: a list of the text")),
        ("", Irregular.BLANK, None, "empty_reply: blank in the results", (0.0, None)),
        (" \n", Irregular.BLANK, None, "empty_reply: blank in the results", (0.0, None)),
        (..., Irregular.NO_KEY, None, "not_released: the results have no 'vignette_mcq'", (None, "no_answer")),
        (7, Irregular.OTHER_TYPE, None, "not_released: the results hold no text but int", (None, "no_answer")),
        ([], Irregular.OTHER_TYPE, None, "not_released: the results hold no text but list", (None, "no_answer")),
        ({"a": 1}, Irregular.OTHER_TYPE, None, "not_released: the results hold no text but dict", (None, "no_answer")),
    ],
)
def test_every_face_of_a_reply_is_recorded_with_its_reason_and_counted(
    folder, imported, value, kind, text, reason, published
):
    prepared, trials = imported(folder(a_file(trial_3=a_trial(vignette_mcq=value))))
    trial = trials["craft-md/one", "case_1", 3]
    answer, score = the_answer(trial, "vignette_mcq"), score_of(trial, "vignette_mcq")
    assert (answer.text, answer.missing_reason) == (text, reason)
    value_then, missing = published or (None, "no_answer")
    assert score.value == value_then
    assert (score.missing_reason or "").startswith(missing or "")
    assert counted(prepared) == {kind: 1}
    assert prepared.results[0].tally.first[kind] == "case_1.json: trial_3.vignette_mcq"
    ours = score_of(trial, "vignette_mcq", "paper@1")
    assert (ours is None) == (text is None)


@pytest.mark.parametrize(
    ("verdict", "missing"),
    [
        (-1, "unreadable_verdict: -1 in the results"),
        (None, "unreadable_verdict: None in the results"),
        (float("nan"), "unreadable_verdict: nan in the results"),
        ("1", "unreadable_verdict: '1' in the results"),
        (..., "not_released: the results have no 'evaluation_vignette_frq'"),
    ],
)
def test_a_verdict_that_is_none_is_missing_and_never_wrong(folder, imported, verdict, missing):
    prepared, trials = imported(folder(a_file(trial_0=a_trial(evaluation_vignette_frq=verdict))))
    score = score_of(trials["craft-md/one", "case_1", 0], "vignette_frq")
    assert (score.value, score.missing_reason) == (None, missing)
    assert list(counted(prepared).values()) == [1]


def test_a_free_response_that_is_null_is_missing_whatever_verdict_stands_beside_it(folder, imported):
    trial = a_trial(vignette_frq=[None, 0], evaluation_vignette_frq=0, multiturn_frq="", evaluation_multiturn_frq=0)
    _, trials = imported(folder(a_file(trial_0=trial)))
    null, blank = (score_of(trials["craft-md/one", "case_1", 0], f"{arm}_frq") for arm in ("vignette", "multi_turn"))
    assert (null.value, null.missing_reason) == (None, "no_answer")
    assert blank.value == 0


def talk(*last, prompt="system", turns=0):
    asked = [{"role": "assistant", "content": "Where?"}, {"role": "user", "content": "Here."}] * turns
    return [{"role": prompt, "content": "You are a doctor."}, *TALK[1:3], *asked, *last]


def doctor_says(text):
    return {"role": "assistant", "content": text}


def patient_says(text):
    return {"role": "user", "content": text}


@pytest.mark.parametrize(
    ("conversation", "ended", "kinds"),
    [
        (talk(doctor_says("**Final Diagnosis:** Gout")), EndReason.DIAGNOSED, set()),
        (talk(doctor_says("Final Diagnosis: Gout"), prompt="user"), EndReason.DIAGNOSED, set()),
        (talk(doctor_says("Fever? Final Diagnosis: Gout")), EndReason.DIAGNOSED_WITH_QUESTION, {Irregular.TWO_FACED}),
        (talk(doctor_says("I see.")), EndReason.NO_QUESTION, set()),
        (talk(doctor_says("final diagnosis: Gout")), EndReason.NO_QUESTION, {Irregular.OTHER_SPELLING}),
        (talk(doctor_says("Fever?"), turns=13), EndReason.MESSAGE_CAP, set()),
        (talk(doctor_says("Fever?"), turns=12), EndReason.ROLE_FAILED, {Irregular.CUT_OFF}),
        (talk(), EndReason.ROLE_FAILED, {Irregular.CUT_OFF}),
        (TALK[1:], EndReason.DIAGNOSED, {Irregular.NO_PROMPT}),
        (talk(patient_says(""), TALK[3]), EndReason.DIAGNOSED, {Irregular.BLANK_MESSAGE, Irregular.NOT_IN_TURN}),
        (talk("odd", {"role": "tool"}, patient_says(3), TALK[3]), EndReason.DIAGNOSED, {Irregular.NO_MESSAGE}),
        (..., EndReason.NOT_RELEASED, {Irregular.NO_CONVERSATION}),
        (None, EndReason.NOT_RELEASED, {Irregular.NO_CONVERSATION}),
        ("text", EndReason.NOT_RELEASED, {Irregular.NO_CONVERSATION}),
        ([], EndReason.NOT_RELEASED, {Irregular.NO_PROMPT, Irregular.NO_CONVERSATION}),
    ],
)  # fmt: skip
def test_a_conversation_ends_by_the_rule_that_the_authors_applied(folder, imported, conversation, ended, kinds):
    prepared, trials = imported(folder(a_file(trial_0=a_trial(multiturn_conversation=conversation))))
    encounter = trials["craft-md/one", "case_1", 0].encounter
    assert encounter.ended is ended
    assert set(counted(prepared)) == kinds
    assert (encounter.error is not None) == ended.is_failure
    assert "You are a doctor." not in [message.text for message in encounter.transcript]


@pytest.mark.parametrize("value", [..., None, [], "lost"])
def test_a_missing_trial_is_there_with_eight_missing_answers(folder, imported, value):
    prepared, trials = imported(folder(a_file(trial_4=value)))
    trial = trials["craft-md/one", "case_1", 4]
    assert trial.encounter.ended is EndReason.NOT_RELEASED
    assert {answer.missing_reason for answer in trial.answers} == {"not_released: the results do not hold trial 4"}
    assert len(trial.answers) == 8
    assert counted(prepared) == {Irregular.NO_TRIAL: 1}


def test_what_a_file_says_otherwise_than_the_cases_file_is_counted_and_the_cases_file_holds(folder, imported):
    odd = a_file(answer="sepsis", case_vignette="Another story.", trial_5={}, remark="x", trial_0=a_trial(own=1))
    prepared, trials = imported(folder(odd, names=["case_7.json"]))
    assert counted(prepared) == {
        Irregular.OTHER_NAME: 1,
        Irregular.OTHER_ANSWER: 1,
        Irregular.OTHER_VIGNETTE: 1,
        Irregular.OTHER_KEY: 3,
    }
    assert score_of(trials["craft-md/one", "case_1", 0], "vignette_mcq").value == 1


def test_a_file_that_does_not_name_its_case_is_about_the_one_it_is_named_after(folder, imported):
    prepared, trials = imported(folder(a_file(case_id=...), names=["case_1.json"]))
    assert ("craft-md/one", "case_1", 0) in trials
    assert counted(prepared) == {Irregular.NO_KEY: 1}


def test_a_copy_of_a_file_is_counted_and_another_file_of_the_same_case_is_refused(folder, imported):
    place = folder(a_file(), a_file(), names=["case_1.json", "case_1 copy.json"])
    (place / "readme.txt").write_text("hello")
    assert counted(imported(place)[0]) == {Irregular.OTHER_NAME: 1, Irregular.COPY: 1, Irregular.OTHER_FILE: 1}
    folder(a_file(trial_0=a_trial(vignette_mcq="Sepsis")), names=["case_1 copy.json"])
    with pytest.raises(ResultsFileError, match=r"holds 'case_1' again, with other results"):
        imported(place, out="again")


def test_half_a_character_is_replaced_and_counted(folder, imported):
    text = json.dumps(a_file()).replace('"vignette_mcq": "Gout"', '"vignette_mcq": "Gout \\ud83d!"', 1)
    prepared, trials = imported(folder(text, names=["case_1.json"]))
    assert the_answer(trials["craft-md/one", "case_1", 0], "vignette_mcq").text == "Gout \ufffd!"
    assert counted(prepared) == {Irregular.HALF_CHARACTER: 1}


def test_costs_are_summed_and_what_is_no_cost_is_none():
    tally = Tally()
    faces = {"a": ["x", 0.5], "b": [None, 0.25], "c": ["x", float("nan")], "d": ["x", True], "e": ["x", 10**400]}
    replies = [read_reply(faces, key, tally, "case_1.json: trial_0") for key in faces]
    assert (tally.n_costs, tally.cost) == (2, 0.75)
    assert [reply.text for reply in replies] == ["x", None, "x", "x", "x"]


@pytest.mark.parametrize(("stored", "value"), [(1, 1.0), (0, 0.0), (1.0, 1.0), ([0, 0.1], 0.0), (0.5, None), (2, None)])
def test_a_verdict_is_zero_or_one_and_nothing_else(stored, value):
    assert read_verdict({"v": stored}, "v", Tally(), "")[0] == value


def test_several_models_share_a_plan_in_the_order_of_the_cases_file_and_gaps_are_named(folder, imported):
    one = folder(a_file("case_10", "cellulitis"), a_file())
    two = folder(a_file("case_2", " gout"), name="two")
    prepared, trials = imported(one, two)
    assert [case.id for case in prepared.study.cases] == ["case_2", "case_1", "case_10"]
    assert len(trials) == 2 * 3 * 5
    absent = trials["craft-md/two", "case_1", 0]
    assert the_answer(absent, "vignette_frq").missing_reason == "not_released: the results do not hold this case"
    assert [counted(prepared, n) for n in (0, 1)] == [{Irregular.NO_CASE: 1}, {Irregular.NO_CASE: 2}]


def test_cases_without_results_are_not_planned_and_the_manifest_says_so(folder, imported, tmp_path):
    imported(folder(a_file()))
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert "2 of the 3 cases of the cases file have no results here and are not planned" in manifest["notes"]
    assert manifest["plan"]["arms"] == list(EXPERIMENTS.values())
    assert manifest["policy"] == PUBLISHED
    assert manifest["study"]["roles"]["grader"]["model"] == GRADER


def test_the_manifest_tells_the_study_under_the_keys_of_a_run_of_our_own(folder, imported, tmp_path):
    imported(folder(a_file()))
    study = to_study({"study": {"benchmark": "craft-md"}})
    own = build_manifest(study, read_cases("starter"), load_prompts(study.benchmark.prompts), load_prices())
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert set(manifest["study"]) == set(own["study"])
    assert set(manifest) == {*own, "imported"}


def test_irregularities_and_costs_are_noted_in_the_manifest(folder, imported, tmp_path):
    imported(folder(a_file(trial_0=a_trial(vignette_mcq=["Gout", 0.25]))))
    notes = json.loads((tmp_path / "run" / "manifest.json").read_text())["notes"]
    assert any("value is a list of a text and its cost: 1, first in case_1.json: trial_0" in note for note in notes)
    assert "craft-md/one: 1 values stand beside a cost, 0.2500 together" in notes


def test_a_folder_of_model_folders_is_as_good_as_the_folders(folder, imported, tmp_path):
    folder(a_file())
    folder(a_file(), name="two")
    (tmp_path / "results" / "case_ids.json").write_text("[1]")
    prepared, _ = imported(tmp_path / "results")
    assert [found.doctor for found in prepared.results] == ["craft-md/one", "craft-md/two"]


def test_the_same_import_goes_on_and_skips_what_is_there(folder, cases, tmp_path):
    prepared = prepare_craft_md([folder(a_file(), a_file("case_2", " gout"))], str(cases), tmp_path / "run")

    class Stopped(Exception):
        pass

    def stop(trial):
        if (trial.key.case_id, trial.key.trial) == ("case_1", 2):
            raise Stopped

    with pytest.raises(Stopped):
        import_craft_md(prepared, lambda total, done: None, stop)
    started, written = [], []
    import_craft_md(prepared, lambda *counts: started.append(counts), written.append)
    assert started == [(10, 8)]
    assert [(trial.key.case_id, trial.key.trial) for trial in written] == [("case_1", 3), ("case_1", 4)]
    import_craft_md(prepared, lambda *counts: started.append(counts), written.append)
    assert started[-1] == (10, 10)
    assert len(written) == 2


def test_another_import_into_the_same_folder_is_refused(folder, imported):
    imported(folder(a_file()))
    with pytest.raises(RunFolderError, match=r"holds another study: roles\.doctor was"):
        imported(folder(a_file(trial_0=a_trial(vignette_mcq="Sepsis"))))


def test_an_import_is_refused_where_something_else_is(folder, imported, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.docx").write_text("mine")
    with pytest.raises(RunFolderError, match="is not empty and no run"):
        imported(folder(a_file()))
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["thesis.docx"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"case_1\.json:1: expected JSON: Expecting value"),
        (json.dumps(a_file())[:-40].encode(), r"case_1\.json:1: expected JSON: .*is the file cut off\?"),
        (b"[1, 2]", r"case_1\.json: expected one JSON object .* found a list"),
        (b'{"case_id":\n "\xff"}', r"case_1\.json:2: expected UTF-8 text"),
        (b"[" * 100_000, r"case_1\.json: expected JSON: "),
        (json.dumps(a_file("case_9999")).encode(), r"case_1\.json: case_id 'case_9999' is not in the cases file"),
        (b'{"case_id": ["case_1"]}', r"case_1\.json: case_id \['case_1'\] is not in the cases file"),
    ],
)
def test_an_unusable_file_is_named_in_one_line_and_leaves_no_run(folder, imported, tmp_path, content, message):
    place = folder(a_file("case_2", " gout"))
    (place / "case_1.json").write_bytes(content)
    with pytest.raises(ResultsFileError, match=message) as refused:
        imported(place)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "run").exists()


def test_a_folder_without_results_and_a_path_that_is_not_there_are_refused(imported, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ResultsFileError, match=r"empty: expected results files"):
        imported(tmp_path / "empty")
    with pytest.raises(ResultsFileError, match=r"nowhere: no such folder"):
        imported(tmp_path / "nowhere")


def test_a_row_of_the_table_is_a_score_without_a_text(table, imported):
    rows = [
        a_row(trial="1", n_choices_in_response="2"),
        a_row("multiturn_frq", correct="0", n_choices_in_response="-1"),
    ]
    prepared, trials = imported(table(*rows))
    trial = trials["craft-md/tabled", "case_1", 1]
    assert trial.encounter.ended is EndReason.NOT_RELEASED
    answer, score = the_answer(trial, "vignette_mcq"), score_of(trial, "vignette_mcq")
    assert (answer.text, answer.missing_reason) == (None, None)
    assert (score.value, score.grader) == (1.0, RULE)
    assert score.evidence == "contains: 'Gout' is in the reply (options named: 2)"
    free = score_of(trials["craft-md/tabled", "case_1", 0], "multi_turn_frq")
    assert (free.value, free.grader, free.evidence) == (0.0, GRADER, None)
    lost = the_answer(trial, "summarized_mcq")
    assert lost.missing_reason == "not_released: the table does not hold this answer"
    assert counted(prepared) == {Irregular.NO_KEY: 14, Irregular.NO_TRIAL: 3}


def test_an_invalid_row_is_missing_for_what_the_table_says(table, imported):
    invalid = {"valid": "0", "correct": "0"}
    rows = [a_row(**invalid, response_kind="list"), a_row("vignette_frq", **invalid, response_kind="null")]
    _, trials = imported(table(*rows))
    trial = trials["craft-md/tabled", "case_1", 0]
    reasons = {arm: the_answer(trial, arm).missing_reason for arm in ("vignette_mcq", "vignette_frq")}
    assert reasons == {"vignette_mcq": "left_out: list in the table", "vignette_frq": "empty_reply: null in the table"}
    assert score_of(trial, "vignette_mcq").value is None


def test_a_table_may_be_packed_and_hold_copies_other_columns_and_other_data_sets(table, imported, tmp_path):
    plain = table(a_row(), a_row(), a_row("vignette_frq", dataset="else", own="1"), columns=[*TABLE, "own"])
    packed = tmp_path / "table.csv.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    prepared, _ = imported(packed)
    found = counted(prepared)
    assert [found[kind] for kind in (Irregular.COPY, Irregular.OTHER_COLUMN, Irregular.OTHER_DATASET)] == [1, 1, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": " "}, "table.csv:3: model: expected a name, found ' '"),
        ({"case_id": "case_9"}, "table.csv:3: case_id: expected an id of the cases file, found 'case_9'"),
        ({"experiment": "own"}, "table.csv:3: experiment: expected one of vignette_mcq"),
        ({"trial": "5"}, "table.csv:3: trial: expected one of 0, 1, 2, 3, 4, found '5'"),
        ({"valid": "yes"}, "table.csv:3: valid: expected 0 or 1"),
        ({"correct": "nan"}, "table.csv:3: correct: expected 0 or 1"),
        ({"valid": "0", "correct": "1"}, "table.csv:3: correct: expected 0 or 1, and 0 where valid is 0"),
        ({"n_choices_in_response": "-2"}, "table.csv:3: n_choices_in_response: expected"),
        ({"correct": "0"}, "table.csv:3: says another thing of an answer"),
    ],
)
def test_a_row_that_says_nonsense_is_named_by_file_and_line(table, imported, tmp_path, changes, message):
    with pytest.raises(ResultsFileError) as refused:
        imported(table(a_row(), a_row(**changes)))
    assert message in str(refused.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"1: the table of correctness lacks the column\(s\) model, .* it has nothing"),
        (b"model,case_id\nx,case_1\n", r"1: the table of correctness lacks the column\(s\) dataset"),
        ((",".join([*TABLE, "model"]) + "\n").encode(), r"1: the table of correctness has a column twice"),
        ((",".join(TABLE) + "\n").encode(), r"holds no row"),
        ((",".join(TABLE) + "\nx,y\n").encode(), r"2: expected 10 fields in this row, found 2"),
        ((",".join(TABLE) + '\n"x').encode(), r"2: not valid CSV"),
        ((",".join(TABLE) + "\n\xff\n").encode("latin-1"), r"not UTF-8 text"),
        (gzip.compress(",".join(TABLE).encode() + bytes(range(97, 123)) * 99)[:-20], r"cannot be read"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_with_its_line(imported, tmp_path, content, message):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(ResultsFileError, match=message) as refused:
        imported(path)
    assert str(path) in str(refused.value)


def test_a_model_with_raw_results_and_a_table_is_refused_with_both_named(folder, table, imported, tmp_path):
    with pytest.raises(
        ResultsFileError, match=r"table\.csv: holds craft-md/one, and so does .*results/one \(raw results\)"
    ):
        imported(folder(a_file()), table(a_row(model="one")))
    assert not (tmp_path / "run").exists()


def test_cases_files_that_cannot_serve_are_refused(folder, cases, tmp_path):
    place = folder(a_file())
    with pytest.raises(InputError, match="no such case file"):
        prepare_craft_md([place], str(tmp_path / "none.csv"), tmp_path / "run")
    cases.write_text(cases.read_text().replace("case_10", "case_1"))
    with pytest.raises(InputError, match="the id 'case_1' occurs more than once"):
        prepare_craft_md([place], str(cases), tmp_path / "run")


# The authors' data.


@pytest.fixture
def released(shared):
    return shared / "data" / "craft-md"


def cells_of(run):
    """Every published score of a run: (doctor, case, trial, arm) to value."""
    connection = sqlite3.connect(run / "run.db")
    sql = """SELECT doctor, case_id, trial, arm, value FROM scores s JOIN answers a ON a.id = s.answer_id
             JOIN encounters e ON e.id = a.encounter_id WHERE policy = 'as_published@1' AND metric = 'accuracy'"""
    cells = {tuple(row[:4]): row[4] for row in connection.execute(sql)}
    connection.close()
    return cells


def test_the_released_sample_has_the_correctness_of_the_released_table_cell_by_cell(released, released_table, tmp_path):
    prepared = prepare_craft_md([released / "results_sample"], str(released / "cases.csv"), tmp_path / "run")
    import_craft_md(prepared, lambda total, done: None, lambda trial: None)
    cells = cells_of(tmp_path / "run")
    cases = {case.id for case in prepared.study.cases}
    table = {place: value for place, value in cells_of(released_table).items() if place[1] in cases}
    assert len(table) == 3 * 60 * 5 * 8
    assert cells == table


def test_a_row_of_the_released_table_is_the_mark_in_the_run(released, released_table):
    cells = cells_of(released_table)
    with gzip.open(released / "correctness_gpt4_gpt35_mistral-v2.csv.gz", "rt", encoding="utf-8") as file:
        for row in islice(csv.DictReader(file), 0, None, 97):
            place = f"craft-md/{row['model']}", row["case_id"], int(row["trial"]), EXPERIMENTS[row["experiment"]]
            assert cells[place] == (float(row["correct"]) if row["valid"] == "1" else None)


def test_the_irregularities_of_the_released_sample_are_those_that_stand_in_the_files(released, tmp_path):
    prepared = prepare_craft_md([released / "results_sample"], str(released / "cases.csv"), tmp_path / "run")
    found = {results.doctor: dict(results.tally.counts) for results in prepared.results}
    text = {
        model: "".join(path.read_text("utf-8") for path in (released / "results_sample" / model).glob("case_*.json"))
        for model in ("gpt4_1106", "gpt3_1106", "mistral-v2")
    }
    assert found["craft-md/gpt3_1106"] == {
        Irregular.NULL_WITH_COST: text["gpt3_1106"].count(": [null, "),
        Irregular.NO_VERDICT: text["gpt3_1106"].count('_frq": -1'),
    }
    gpt4 = found["craft-md/gpt4_1106"]
    assert gpt4[Irregular.TEXT_WITH_COST] == text["gpt4_1106"].count('mcq": ["')
    assert gpt4[Irregular.BLANK] == sum(text["gpt4_1106"].count(f'{kind}": ""') for kind in ("_mcq", "_frq"))
    assert set(found["craft-md/mistral-v2"]) == {Irregular.TWO_FACED}


def test_the_released_table_is_a_run_of_every_case_and_answer(released_table):
    cells = cells_of(released_table)
    assert len(cells) == 240_480
    cases = {case_id for _, case_id, _, _ in cells}
    assert len(cases) == 2004
    # Supplementary Tables 1 and 4 of the 2025 article: a case counts by its valid trials, and as 0 without any.
    printed = {("gpt4_1106", "vignette_mcq"): 0.820, ("gpt3_1106", "vignette_mcq"): 0.657}
    printed |= {("gpt4_1106", "summarized_frq"): 0.272, ("mistral-v2", "summarized_mcq"): 0.513}
    for (model, arm), mean in printed.items():
        values = [[cells[f"craft-md/{model}", case_id, n, arm] for n in range(5)] for case_id in cases]
        valid = [[value for value in trials if value is not None] or [0.0] for trials in values]
        ours = sum(sum(trials) / len(trials) for trials in valid) / len(valid)
        assert ours == pytest.approx(mean, abs=0.0005)
