"""Further examiners mark stored answers: scripted ones, rules and metrics."""

import asyncio
import json
import shlex
import shutil
import sqlite3
import sys
from collections import Counter

import pytest
import stamina

from openosce.errors import InputError, ProviderError, RunFolderError, StudyError
from openosce.grading.student_output import SECTIONS
from openosce.models import Script
from openosce.runs import cast as casting
from openosce.runs import prepare, run_study, to_study, unfinished
from openosce.runs.folder import RunReader
from openosce.runs.reexamine import examine_again, prepare_examinations
from openosce.runs.regrade import prepare_grading

EXPLAINED = {f"explanation{n}": "so it is" for n in range(1, 6)}
DIFFERENTIAL = {
    **{f"diagnosis {n} name": 0 for n in (1, 2, 3)},
    **{f"diagnosis {n} target": "none" for n in (1, 2, 3)},
    **{f"diagnosis {n} {kind} finding": 0 for n in (1, 2, 3) for kind in ("historical", "physical")},
    **{"order": 0, "quality score": 2, "reason": "none of it fits"},
}
VERDICTS = {
    "examine/info_gathering/*": json.dumps({"reason": "it fits", "score": 1, "repeated": False}),
    "examine/physical_exam/*": json.dumps({"score1": 30, "score2": 20, "score3": 0, **EXPLAINED}),
    "examine/closure/*": json.dumps({"score1": 20, "score2": 15, "score3": 30, "score4": 10, "score5": 0, **EXPLAINED}),
    "examine/differential/*": json.dumps(DIFFERENTIAL),
}


class Counting(Script):
    """A script that notes its calls, and fails as told."""

    def __init__(self, fail=lambda n: None):
        super().__init__(VERDICTS)
        self.asked = []
        self.fail = fail

    async def complete(self, request):
        self.asked.append(request.step)
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
    found = {"test/one": Counting(), "test/two": Counting()}
    monkeypatch.setattr(casting, "build_model", lambda spec, role: found[spec.name])
    return found


@pytest.fixture(scope="module")
def examined_once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    study = to_study({"study": {"benchmark": "medqa-cs", "trials": 2}})
    run_study(prepare(study, folder, limit=2), lambda total, todo: None, lambda trial: None)
    return folder


@pytest.fixture
def run(examined_once, tmp_path):
    return shutil.copytree(examined_once, tmp_path / "run")


def mark(folder, *examiners, metrics=(), **how):
    """Mark anew; returns how many answers each examiner marked now."""
    counts = []
    for prepared in prepare_examinations(folder, examiners, metrics, **how):
        marked = []
        examine_again(prepared, lambda n: None, marked.append)
        counts.append(len(marked))
    return counts


def totals(folder, policy="as_published@1"):
    """By examiner and section, the totals that have a value."""
    found = {}
    with RunReader(folder) as reader:
        for row in reader.scores("score"):
            if row.score.policy == policy and row.score.value is not None:
                found.setdefault((row.score.grader, row.arm), []).append(row.score.value)
    return found


N_ANSWERS = 2 * (1 + 2 * 3)  # the questions are asked in the first of two trials


def test_several_examiners_stand_side_by_side_with_the_runs_own(run, models):
    before = totals(run)
    assert mark(run, "test/one", "test/two") == [N_ANSWERS, N_ANSWERS]
    after = totals(run)
    assert {place: values for place, values in after.items() if place[0] == "builtin/examiner"} == before
    # By hand: 0.6 · 30/60 + 0.4 · 20/40; 0.2 + 0.4/2 + 0.2 + 0.1 + 0
    assert after["test/one", "physical_exam"] == [pytest.approx(50)] * 4
    assert after["test/two", "closure"] == [pytest.approx(70)] * 4
    assert after["test/two", "info_gathering"] == [100, 100]


def test_nothing_is_asked_or_marked_twice(run, models):
    mark(run, "test/one")
    n_calls = len(models["test/one"].asked)
    assert n_calls == len(set(models["test/one"].asked))
    assert mark(run, "test/one") == [0]
    assert len(models["test/one"].asked) == n_calls


def test_a_marking_that_stopped_goes_on_where_it_was(run, models):
    models["test/one"].fail = lambda n: KeyboardInterrupt() if n == 40 else None
    with pytest.raises(KeyboardInterrupt):
        mark(run, "test/one", in_flight=1)
    models["test/one"].fail = lambda n: None
    answered = set(models["test/one"].asked[:-1])
    asked_before = len(models["test/one"].asked)
    mark(run, "test/one")
    assert not answered & set(models["test/one"].asked[asked_before:])
    assert Counter({place[1]: len(values) for place, values in totals(run).items() if place[0] == "test/one"}) == {
        "info_gathering": 2, "physical_exam": 4, "closure": 4, "differential": 4,
    }  # fmt: skip


def test_marks_that_an_endpoint_failed_to_give_are_missing_and_asked_for_again(run, models):
    models["test/one"].fail = lambda n: ProviderError("HTTP 503")
    assert mark(run, "test/one") == [N_ANSWERS]
    assert not [place for place in totals(run) if place[0] == "test/one"]
    models["test/one"].fail = lambda n: None
    assert mark(run, "test/one") == [N_ANSWERS]
    assert {place[1] for place in totals(run) if place[0] == "test/one"} == set(SECTIONS)


def test_gaps_of_a_later_examiner_are_no_gaps_of_the_run(examined_once, run, models):
    models["test/one"].fail = lambda n: ProviderError("HTTP 503")
    mark(run, "test/one")
    study = to_study({"study": {"benchmark": "medqa-cs", "trials": 2}})
    assert unfinished(prepare(study, run, limit=2)) == []


def test_the_manifest_notes_every_examiner_once_with_what_decides_its_marks(run, models):
    settings = {"temperature": 0}
    mark(run, "test/one", metrics=["exact-match"], base_url="http://here", settings=settings)
    mark(run, "test/one", metrics=["exact-match"], base_url="http://here", settings=settings)
    with RunReader(run) as reader:
        model, metric = reader.manifest["regraded"]
    assert (model["grader"], model["base_url"], model["settings"]) == ("test/one", "http://here", settings)
    assert model["prompts_hash"] and model["policy"] is None
    assert (metric["grader"], metric["prompts_hash"]) == ("metric/exact-match", None)


def test_an_examiner_of_the_same_name_with_other_settings_is_refused(run, models):
    models["test/one"].fail = lambda n: ProviderError("HTTP 503") if n > 10 else None
    mark(run, "test/one")
    with pytest.raises(RunFolderError, match=r"test/one has graded here as .*give the same --base-url and settings"):
        mark(run, "test/one", settings={"temperature": 1})


def test_the_runs_own_examiner_has_nothing_left_to_mark_and_is_not_noted(run):
    assert mark(run, "builtin/examiner") == [0]
    with RunReader(run) as reader:
        assert "regraded" not in reader.manifest


def test_an_answer_that_is_missing_stays_missing_for_every_examiner(tmp_path, models):
    tables = {
        "study": {"benchmark": "medqa-cs", "trials": 1},
        "roles": {"doctor": {"model": "test/student"}},
        "medqa_cs": {"sections": ["differential"]},
    }
    models["test/student"] = Script({"answer/*": "no JSON"})
    run_study(prepare(to_study(tables), tmp_path / "run", limit=1), lambda total, todo: None, lambda trial: None)
    mark(tmp_path / "run", "test/one", metrics=["exact-match"])
    assert models["test/one"].asked == []
    with RunReader(tmp_path / "run") as reader:
        reasons = {row.score.grader: row.score.missing_reason for row in reader.scores("score")}
    assert set(reasons) == {"builtin/examiner", "test/one", "metric/exact-match"}
    assert all(reason.startswith("invalid_output") for reason in reasons.values())


def test_metrics_mark_every_section_and_ask_no_model(run, models):
    assert mark(run, metrics=["exact-match"]) == [N_ANSWERS]
    assert {section for grader, section in totals(run) if grader == "metric/exact-match"} == set(SECTIONS)
    assert models["test/one"].asked == []


def test_a_linker_sees_every_text_in_one_run_of_its_command(run, tmp_path):
    code = (
        "import json, sys\n"
        f"open({str(tmp_path / 'runs')!r}, 'a').write('x')\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    print(json.dumps({'id': asked['id'], 'concepts': asked['text'].lower().split()}))\n"
    )
    (tmp_path / "linker.py").write_text(code, encoding="utf-8")
    command = f"umls={shlex.quote(sys.executable)} {shlex.quote(str(tmp_path / 'linker.py'))}"
    assert mark(run, metrics=[command]) == [N_ANSWERS]
    assert (tmp_path / "runs").read_text() == "x"
    assert {section for grader, section in totals(run) if grader == "metric/umls"} == set(SECTIONS)
    with pytest.raises(RunFolderError, match="metric/umls has graded here"):
        with_gap(run)
        mark(run, metrics=[f"{command} --other"])


def with_gap(run):
    """Take one mark of the linker away, as a stop would have left it."""
    connection = sqlite3.connect(run / "run.db")
    connection.execute(
        "DELETE FROM scores WHERE grader = 'metric/umls' AND answer_id = (SELECT MIN(answer_id) FROM scores)"
    )
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("examiners", "metrics", "said"),
    [
        (["test/one", "test/one"], [], "test/one is named twice"),
        ([], ["umls=a", "umls=b"], "metric/umls is named twice"),
        (["builtin/lexicon"], [], "unknown built-in"),
        (["gpt-4"], [], "no provider"),
        ([], ["bleu"], "unknown; there is"),
    ],
)
def test_names_that_cannot_be_used_are_refused_before_anything_is_written(run, examiners, metrics, said):
    before = (run / "manifest.json").read_bytes()
    with pytest.raises(InputError, match=said):
        prepare_examinations(run, examiners, metrics)
    assert (run / "manifest.json").read_bytes() == before


def test_a_run_that_nobody_examines_is_refused(tmp_path):
    study = to_study({"study": {"benchmark": "craft-md", "trials": 1}, "craft_md": {"arms": ["vignette_frq"]}})
    run_study(prepare(study, tmp_path / "run", limit=1), lambda total, todo: None, lambda trial: None)
    with pytest.raises(StudyError, match="nobody examines in this run of craft-md"):
        prepare_examinations(tmp_path / "run", ["builtin/examiner"])


def test_a_grader_has_nothing_to_do_in_a_run_of_sections(run):
    with pytest.raises(StudyError, match="medqa-cs has no grader; use --examiner or --metric"):
        prepare_grading(run)


def test_a_manifest_that_does_not_say_how_it_was_examined_is_refused(run):
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["study"]["settings"] = {"weights": "other"}
    (run / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(RunFolderError, match="does not say how the run was examined"):
        prepare_examinations(run, ["builtin/examiner"])
