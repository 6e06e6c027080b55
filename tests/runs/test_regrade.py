"""Grading stored answers again, by scripted graders and by rules."""

import asyncio
import json
import signal
import sqlite3

import pytest
import stamina

from openosce.errors import AccessError, InputError, ProviderError, RunFolderError, RunStopped, StudyError
from openosce.grading import ACCURACY, Score, TrialKey
from openosce.models import Reply, Request, Script
from openosce.reports.agreement import agreement
from openosce.runs import cast as casting
from openosce.runs import prepare, run_study, to_study, unfinished
from openosce.runs.folder import RunReader, RunWriter
from openosce.runs.folder.records import AddedScores
from openosce.runs.regrade import prepare_grading, regrade

ARMS = ["vignette_mcq", "vignette_frq", "multi_turn_own"]
DOCTOR = {
    "talk/2": "How long have you had this?",
    "talk/4": "Final Diagnosis: Celiac disease",
    "answer/*_mcq": "A",
    "answer/*_frq": "Celiac disease",
}
YES = {"grade/extract/*": "Celiac disease", "grade/compare/*": "yes"}


class Counting(Script):
    """A script that notes its calls, and fails as told."""

    def __init__(self, replies, fail=lambda n: None):
        super().__init__(replies)
        self.asked = []
        self.fail = fail

    async def complete(self, request: Request) -> Reply:
        self.asked.append((request.step, request.repeat))
        await asyncio.sleep(0)
        failure = self.fail(len(self.asked))
        if failure:
            raise failure
        return await super().complete(request)


@pytest.fixture(autouse=True)
def one_try():
    with stamina.set_testing(True, attempts=1):
        yield


@pytest.fixture
def models(monkeypatch):
    found = {"test/doctor": Counting(DOCTOR), "test/grader": Counting(YES), "test/other": Counting(YES)}
    monkeypatch.setattr(casting, "build_model", lambda spec, role: found[spec.name])
    return found


def start(folder, grader="builtin/lexicon", limit=2, **study):
    tables = {
        "study": {"benchmark": "craft-md", "trials": 1, **study},
        "roles": {"doctor": {"model": "test/doctor"}, "grader": {"model": grader}},
        "craft_md": {"arms": ARMS},
    }
    prepared = prepare(to_study(tables), folder, limit=limit)
    run_study(prepared, lambda total, todo: None, lambda trial: None)
    return prepared


def grade(folder, stop_after=None, **how):
    """Grade again; returns the number of answers graded now."""
    graded = []

    def step(added):
        graded.append(added)
        if len(graded) == stop_after:
            signal.raise_signal(signal.SIGINT)

    regrade(prepare_grading(folder, **how), lambda n: None, step)
    return len(graded)


def rows(folder, policy="paper@1"):
    with RunReader(folder) as reader:
        found = [(r.key.case_id, r.arm, r.score) for r in reader.scores(ACCURACY) if r.score.policy == policy]
    return sorted(found, key=lambda row: (row[0], row[1], row[2].grader))


def verdicts(folder, grader, policy="paper@1"):
    return [(case, arm, score.value) for case, arm, score in rows(folder, policy) if score.grader == grader]


def conversations(folder):
    connection = sqlite3.connect(folder / "run.db")
    tables = [
        connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall()
        for name in ("encounters", "messages", "answers")
    ]
    connection.close()
    return tables


def test_new_verdicts_stand_beside_the_old_ones_and_conversations_are_not_touched(tmp_path, models):
    start(tmp_path)
    before, old = conversations(tmp_path), rows(tmp_path)
    assert grade(tmp_path, grader="test/other") == 4
    assert conversations(tmp_path) == before
    assert [row for row in rows(tmp_path) if row[2].grader != "test/other"] == old
    new = verdicts(tmp_path, "test/other")
    assert len(new) == 4
    assert {arm for _, arm, _ in new} == {"vignette_frq", "multi_turn_own"}
    assert all(value == 1 for _, _, value in new)


def test_grading_again_adds_nothing_and_makes_no_call(tmp_path, models):
    start(tmp_path)
    grade(tmp_path, grader="test/other")
    asked, stored = len(models["test/other"].asked), rows(tmp_path)
    assert asked == 2 * 2 + 2  # of two cases two wordings to read, and one diagnosis to compare with the reference
    assert grade(tmp_path, grader="test/other") == 0
    assert len(models["test/other"].asked) == asked
    assert rows(tmp_path) == stored


def test_another_policy_needs_no_model_where_rules_decide(tmp_path, models):
    start(tmp_path)
    connection = sqlite3.connect(tmp_path / "run.db")
    with connection:
        connection.execute("DELETE FROM scores WHERE policy = 'as_published@1'")  # as of a run that had but one policy
    connection.close()
    assert grade(tmp_path, policy="as_published") == 6
    assert [score.grader for _, arm, score in rows(tmp_path, "as_published@1") if arm == "vignette_mcq"] == [
        "options"
    ] * 2
    assert len(verdicts(tmp_path, "builtin/lexicon", "as_published@1")) == 4
    assert grade(tmp_path, policy="as_published") == 0


def test_what_the_runs_grader_has_answered_is_not_asked_again_under_another_policy(tmp_path, models):
    start(tmp_path, grader="test/grader")
    asked = len(models["test/grader"].asked)
    assert grade(tmp_path, policy="as_published") == 4  # the rule's verdicts on multiple choice are there already
    assert len(models["test/grader"].asked) == asked
    assert grade(tmp_path, policy="strict") == 4
    assert len(models["test/grader"].asked) > asked  # its prompts ask for something else


def test_a_grading_that_was_interrupted_goes_on_and_asks_nothing_twice(tmp_path, models):
    start(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        grade(tmp_path, stop_after=3, grader="test/other", in_flight=1)
    done = len(verdicts(tmp_path, "test/other"))
    assert done == 3
    assert grade(tmp_path, grader="test/other") == 4 - done
    assert len(verdicts(tmp_path, "test/other")) == 4
    assert len(models["test/other"].asked) == len(set(models["test/other"].asked))


def test_a_missing_answer_gets_a_missing_score_with_its_reason(tmp_path, models):
    models["test/doctor"] = Counting({key: text for key, text in DOCTOR.items() if key != "answer/*_frq"})
    start(tmp_path)
    grade(tmp_path, grader="test/other")
    missing = [row for row in rows(tmp_path) if row[1] == "vignette_frq" and row[2].grader == "test/other"]
    assert [(row[2].value, row[2].missing_reason) for row in missing] == [(None, "no_answer")] * 2
    assert not any("vignette_frq" in step for step, _ in models["test/other"].asked)


def test_a_verdict_that_an_endpoint_failed_to_give_is_missing_and_the_next_start_closes_the_gap(tmp_path, models):
    study = start(tmp_path)
    models["test/other"].fail = lambda n: ProviderError("HTTP 503") if n <= 2 else None
    grade(tmp_path, grader="test/other", in_flight=1)
    gaps = [row for row in rows(tmp_path) if row[2].grader == "test/other" and row[2].value is None]
    assert [row[2].missing_reason for row in gaps] == ["provider_failed: HTTP 503"] * 2
    assert unfinished(study) == []  # a gap of the grading is none of the run
    assert grade(tmp_path, grader="test/other") == 2
    assert [value for _, _, value in verdicts(tmp_path, "test/other")] == [1.0] * 4


def test_an_unreadable_verdict_is_missing_and_final(tmp_path, models):
    models["test/other"] = Counting(YES | {"grade/compare/*": "perhaps"})
    start(tmp_path)
    grade(tmp_path, grader="test/other")
    assert {row[2].missing_reason.partition(":")[0] for row in rows(tmp_path) if row[2].grader == "test/other"} == {
        "unreadable_verdict"
    }
    assert grade(tmp_path, grader="test/other") == 0


def test_without_access_the_grading_stops_and_leaves_nothing_behind(tmp_path, models):
    start(tmp_path)
    stored, manifest = rows(tmp_path), (tmp_path / "manifest.json").read_text()
    models["test/other"].fail = lambda n: AccessError("wrong key")
    with pytest.raises(RunStopped, match="wrong key"):
        grade(tmp_path, grader="test/other")
    assert rows(tmp_path) == stored
    assert (tmp_path / "manifest.json").read_text() == manifest


def test_repeated_verdicts_of_one_answer_are_all_kept(tmp_path, models):
    start(tmp_path, grader="test/grader", grader_repeats=3)
    grade(tmp_path, grader="test/other")
    assert len(verdicts(tmp_path, "test/other")) == 4 * 3


def test_the_manifest_notes_grader_policy_prompts_and_time(tmp_path, models):
    start(tmp_path)
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "grade_compare.txt").write_text("Is {{ answer }} the same as {{ reference }}? yes or no")
    run = tmp_path
    grade(run, grader="test/other", own_prompts=prompts)
    grade(run, policy="strict")  # rules had decided it when the run was made: nothing to note
    manifest = json.loads((run / "manifest.json").read_text())
    (note,) = manifest["regraded"]
    assert (note["grader"], note["policy"]) == ("test/other", "paper@1")
    assert note["prompts_hash"] not in (None, manifest["study"]["prompts_hash"])
    assert note["when"]


def test_a_run_goes_on_after_it_was_graded_again_and_keeps_the_verdicts(tmp_path, models):
    start(tmp_path)
    grade(tmp_path, grader="test/other")
    stored, asked = rows(tmp_path), len(models["test/doctor"].asked)
    start(tmp_path)
    assert len(models["test/doctor"].asked) == asked
    assert rows(tmp_path) == stored
    start(tmp_path, limit=3)
    assert "regraded" in json.loads((tmp_path / "manifest.json").read_text())
    assert grade(tmp_path, grader="test/other") == 2


def test_verdicts_on_other_prompts_are_not_mixed_with_earlier_ones(tmp_path, models):
    start(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        grade(tmp_path, stop_after=1, grader="test/other", in_flight=1)
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "grade_compare.txt").write_text("{{ answer }} or {{ reference }}")
    with pytest.raises(RunFolderError, match="give the same --prompts as then"):
        grade(tmp_path, grader="test/other", own_prompts=prompts)
    grade(tmp_path, grader="test/other", policy="released", own_prompts=prompts)


def test_verdicts_on_other_settings_are_not_mixed_with_earlier_ones(tmp_path, models):
    start(tmp_path, grader="test/grader")
    with pytest.raises(RunFolderError, match="give the same --base-url and settings"):
        grade(tmp_path, grader="test/grader", policy="strict", settings={"temperature": 1.0})
    with pytest.raises(RunFolderError, match="give the same --base-url"):
        grade(tmp_path, grader="test/grader", policy="strict", base_url="http://localhost:1/v1")
    assert verdicts(tmp_path, "test/grader", "strict@1") == []


def test_the_runs_own_grading_is_left_alone(tmp_path, models):
    start(tmp_path, grader="test/grader")
    stored = rows(tmp_path)
    assert grade(tmp_path) == 0
    prepared = prepare_grading(tmp_path)
    assert prepared.is_own
    assert prepared.arms_decided_anew == ()
    assert rows(tmp_path) == stored


def test_agreement_counts_every_answer_once(tmp_path, models):
    start(tmp_path)
    prepared = prepare_grading(tmp_path, grader="test/other")
    before = agreement(tmp_path, prepared.own.judge, prepared.judge, prepared.arms_decided_anew)
    assert [(row.arm, row.n_answers, row.missing_new, row.kappa) for row in before] == [
        ("vignette_frq", 2, 2, None),
        ("multi_turn_own", 2, 2, None),
    ]
    grade(tmp_path, grader="test/other")
    for row in agreement(tmp_path, prepared.own.judge, prepared.judge, prepared.arms_decided_anew):
        assert (row.n_both, row.missing_old, row.missing_new) == (2, 0, 0)
        assert (row.both_right + row.only_new_right, row.only_old_right, row.both_wrong) == (2, 0, 0)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"policy": "lenient"}, "unknown match policy 'lenient'"),
        ({"grader": "builtin/interviewer"}, "cannot be the grader"),
        ({"grader": "gpt"}, "has no provider"),
        ({"own_prompts": "nowhere"}, "no such prompt folder"),
        ({"settings": {"warmth": 1}}, "unknown key roles.grader.warmth"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_is_written(tmp_path, models, how, said):
    start(tmp_path)
    if "own_prompts" in how:
        how = {"own_prompts": tmp_path / how["own_prompts"]}
    manifest = (tmp_path / "manifest.json").read_text()
    with pytest.raises(InputError, match=said):
        prepare_grading(tmp_path, **how)
    assert (tmp_path / "manifest.json").read_text() == manifest


def test_a_missing_key_is_refused_before_anything_is_written(tmp_path, models, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    models["openai/gpt-x"] = Counting(YES)
    start(tmp_path)
    with pytest.raises(StudyError, match="set OPENAI_API_KEY"):
        grade(tmp_path, grader="openai/gpt-x")
    assert verdicts(tmp_path, "openai/gpt-x") == []


def test_a_folder_that_is_no_run_and_a_manifest_without_a_grader_are_refused(tmp_path, models):
    with pytest.raises(RunFolderError, match="no run here"):
        prepare_grading(tmp_path / "nothing")
    start(tmp_path)
    (tmp_path / "manifest.json").write_text(json.dumps({"study": {"benchmark": "craft-md"}, "policy": "paper@1"}))
    with pytest.raises(RunFolderError, match="does not say how the run was graded"):
        prepare_grading(tmp_path)


def test_a_run_that_is_being_written_is_not_graded(tmp_path, models):
    start(tmp_path)
    with RunWriter(tmp_path), pytest.raises(RunFolderError, match="another process"):
        grade(tmp_path, grader="test/other")


def test_a_damaged_run_is_refused_with_one_line(tmp_path, models):
    start(tmp_path)
    database = tmp_path / "run.db"
    content = bytearray(database.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    database.write_bytes(content)
    with pytest.raises(InputError) as refused:
        grade(tmp_path, grader="test/other")
    assert "\n" not in str(refused.value)
    assert str(tmp_path) in str(refused.value)


def test_scores_of_an_answer_that_is_not_there_are_refused(tmp_path, models):
    start(tmp_path)
    score = Score(ACCURACY, 1.0, "paper@1", "x/y")
    with pytest.raises(RunFolderError, match="not there"), RunWriter(tmp_path) as writer:
        writer.write(AddedScores(TrialKey("nobody", "text", "none", 0), "vignette_frq", (score,)))
    assert verdicts(tmp_path, "x/y") == []
