import asyncio
import json

import pytest
import stamina

from openosce.benchmarks.craft_md import roles as kinds
from openosce.errors import InputError, ProviderError, RefusedError, RunFolderError
from openosce.grading import ACCURACY
from openosce.models import Reply, Request, Script
from openosce.runs import cast as casting
from openosce.runs import planned, prepare, run_study, to_study, unfinished
from openosce.runs.folder import RunReader

DOCTOR = {
    "talk/2": "How long have you had this?",
    "talk/4": "Final Diagnosis: Celiac disease",
    "answer/*_mcq": "A",
    "answer/*_frq": "Celiac disease",
}


class CountingModel(Script):
    """A script that counts its calls, and fails as told."""

    def __init__(self, replies, fail=lambda request, n: None):
        super().__init__(replies)
        self.steps = []
        self.most_open = self.open = 0
        self._fail = fail

    async def complete(self, request: Request) -> Reply:
        self.steps.append(request.step)
        number = len(self.steps)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            await asyncio.sleep(0)
            failure = self._fail(request, number)
            if failure:
                raise failure
            return await super().complete(request)
        finally:
            self.open -= 1


@pytest.fixture(autouse=True)
def one_try():
    """A failure stays one: no new tries within a run."""
    with stamina.set_testing(True, attempts=1):
        yield


@pytest.fixture
def doctor(monkeypatch):
    """Stand a model in for `test/doctor` and `test/grader`."""
    models = {"test/doctor": CountingModel(DOCTOR), "test/grader": CountingModel({"grade/extract/*": "x", "*": "no"})}
    monkeypatch.setattr(casting, "build_model", lambda spec, role: models[spec.name])
    return models


def study(name="test/doctor", **changes):
    table = {"benchmark": "craft-md", "trials": 2, **changes.pop("study", {})}
    return to_study({"study": table, "roles": {"doctor": {"model": name}, **changes.pop("roles", {})}, **changes})


def start(folder, its_study=None, **choice):
    prepared = prepare(its_study or study(), folder, **choice)
    run_study(prepared, lambda total, todo: None, lambda trial: None)
    return prepared


def scores(folder):
    with RunReader(folder) as reader:
        rows = reader.scores(ACCURACY)
        return [(row.key, row.arm, row.score.value) for row in rows if row.score.policy == "paper@1"]


def test_every_planned_trial_is_run_once_and_a_second_start_makes_no_call(tmp_path, doctor):
    prepared = start(tmp_path)
    assert len(scores(tmp_path)) == 12 * 2 * 9
    calls = len(doctor["test/doctor"].steps)
    assert calls == 12 * 2 * (2 + 8)
    assert unfinished(prepared) == []
    start(tmp_path)
    assert len(doctor["test/doctor"].steps) == calls


def test_a_failed_call_is_asked_again_by_the_next_start_and_nothing_else_is(tmp_path, doctor):
    doctor["test/doctor"]._fail = lambda request, n: ProviderError("HTTP 503") if n == 5 else None
    prepared = start(tmp_path)
    gap = unfinished(prepared)
    assert len(gap) == 1
    before = list(doctor["test/doctor"].steps)
    start(tmp_path)
    again = doctor["test/doctor"].steps[len(before) :]
    assert unfinished(prepared) == []
    assert 1 <= len(again) <= 10
    assert len(scores(tmp_path)) == 12 * 2 * 9
    assert all(value is not None for _, _, value in scores(tmp_path))


def test_a_refusal_is_final_and_missing_and_not_asked_again(tmp_path, doctor):
    refuse = lambda request, n: RefusedError("content filter") if request.step == "answer/vignette_mcq" else None  # noqa: E731
    doctor["test/doctor"]._fail = refuse
    prepared = start(tmp_path)
    assert unfinished(prepared) == []
    refused = [value for _, arm, value in scores(tmp_path) if arm == "vignette_mcq"]
    assert refused == [None] * 24


def test_identical_answers_are_graded_by_one_call(tmp_path, doctor):
    start(tmp_path, study(roles={"grader": {"model": "test/grader"}}), only=["celiac-disease-01"])
    extracted = [step for step in doctor["test/grader"].steps if step.startswith("grade/extract")]
    # four free responses and the closing message, in two trials, say the same two things
    assert len(extracted) == len(set(extracted)) == 2


def test_no_more_calls_are_open_than_allowed(tmp_path, doctor):
    start(tmp_path, study(limits={"in_flight": 3}))
    assert doctor["test/doctor"].most_open == 3


def test_limit_and_only_choose_cases_and_a_later_start_adds_the_rest(tmp_path, doctor):
    start(tmp_path, limit=2)
    with RunReader(tmp_path) as reader:
        assert len(reader.cases()) == 2
    start(tmp_path, only=["kawasaki-disease-01"])
    start(tmp_path)
    with RunReader(tmp_path) as reader:
        assert len(reader.cases()) == 12
    assert len(scores(tmp_path)) == 12 * 2 * 9


def test_trials_are_interleaved_so_that_a_stopped_run_has_every_case_once(tmp_path, doctor):
    keys = planned(prepare(study(), tmp_path))
    assert [key.trial for key in keys] == [0] * 12 + [1] * 12


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"study": {"trials": 3}}, "trials"),
        ({"study": {"seed": 9}}, "seed"),
        ({"craft_md": {"cap": 30}}, "settings.cap"),
        ({"craft_md": {"policy": "strict"}}, "settings.policy"),
        ({"roles": {"doctor": {"model": "test/doctor", "temperature": 0.5}}}, "roles.doctor"),
    ],
)
def test_a_folder_that_holds_another_study_is_refused_by_naming_the_difference(tmp_path, doctor, changed, named):
    start(tmp_path, limit=1)
    before = (tmp_path / "manifest.json").read_text()
    with pytest.raises(RunFolderError, match="holds another study") as refused:
        start(tmp_path, study(**changed))
    assert named in str(refused.value)
    assert (tmp_path / "manifest.json").read_text() == before


def test_more_calls_in_flight_is_still_the_same_study(tmp_path, doctor):
    start(tmp_path, limit=1)
    start(tmp_path, study(limits={"in_flight": 7}), limit=1)
    assert len(scores(tmp_path)) == 2 * 9


def test_changed_prompts_are_another_study(tmp_path, doctor):
    run, own = tmp_path / "run", tmp_path / "prompts"
    start(run, limit=1)
    own.mkdir()
    (own / "answer_talk_frq.txt").write_text("Name the disease.")
    with pytest.raises(RunFolderError, match="prompts_hash"):
        start(run, limit=1, own_prompts=own)


def test_changed_cases_are_another_study(tmp_path, doctor):
    file = tmp_path / "case.yaml"
    text = "id: x\nsource: s\nvignette: A man has a red toe.\nchoices: [Gout, Sepsis]\ndiagnosis: {name: %s}\n"
    file.write_text(text % "Gout")
    start(tmp_path / "run", study(study={"cases": str(file)}))
    file.write_text(text % "Sepsis")
    with pytest.raises(RunFolderError, match="cases_hash"):
        start(tmp_path / "run", study(study={"cases": str(file)}))


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path, doctor):
    (tmp_path / "thesis.doc").write_text("years of work")
    with pytest.raises(RunFolderError, match=r"thesis\.doc"):
        start(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.doc"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpt-4o", "has no provider"),
        ("builtin/record", "cannot be the doctor"),
        ("builtin/interviewr", "unknown built-in"),
        ("nobody/model", "unknown provider 'nobody'"),
        ("builtin/script", "needs its replies"),
    ],
)
def test_a_name_that_nobody_knows_is_refused_before_anything_is_written(tmp_path, name, expected):
    with pytest.raises(InputError, match=expected):
        start(tmp_path / "run", study(name))
    assert not (tmp_path / "run").exists()


def test_unusable_cases_are_refused_before_anything_is_written(tmp_path, doctor):
    twice = tmp_path / "cases.jsonl"
    case = {"id": "x", "source": "s", "diagnosis": {"name": "Gout"}}
    twice.write_text("\n".join(map(json.dumps, [case, case])))
    blank = tmp_path / "blank.jsonl"
    blank.write_text(json.dumps({**case, "diagnosis": {"name": " "}}))
    for file, expected in (
        (twice, "more than once"),
        (blank, "no answer"),
        (tmp_path / "none.csv", "no such case file"),
    ):
        with pytest.raises(InputError, match=expected):
            start(tmp_path / "run", study(study={"cases": str(file)}))
    assert not (tmp_path / "run").exists()


def test_an_unknown_case_id_is_refused(tmp_path, doctor):
    with pytest.raises(InputError, match="no case has the id 'nobody'"):
        start(tmp_path / "run", only=["nobody"])


def test_the_journal_refuses_to_answer_for_another_request(tmp_path, doctor, monkeypatch):
    doctor["test/doctor"]._fail = lambda request, n: ProviderError("down") if request.step == "talk/4" else None
    start(tmp_path, limit=1)
    doctor["test/doctor"]._fail = lambda request, n: None
    monkeypatch.setattr(kinds, "doctor_part", lambda case: type("Part", (), {"specialty": "x", "objective": None})())
    with pytest.raises(RunFolderError, match="another request"):
        start(tmp_path, limit=1)


def test_the_manifest_tells_what_is_needed_to_repeat_the_run(tmp_path, doctor):
    start(tmp_path, limit=1)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["study"]["roles"]["doctor"] == [{"model": "test/doctor", "base_url": None, "settings": {}}]
    assert len(manifest["study"]["prompts_hash"]) == len(manifest["study"]["cases_hash"]) == 16
    assert manifest["policy"] == "paper@1"
    assert manifest["fallbacks"] == ["patient: builtin/record", "summarizer: builtin/record", "grader: builtin/lexicon"]
    assert manifest["versions"]["openosce"]


def test_a_setting_that_an_earlier_version_did_not_have_and_that_is_not_set_is_no_change(tmp_path, doctor):
    start(tmp_path, limit=1)
    path = tmp_path / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["study"]["development"]
    path.write_text(json.dumps(manifest))
    start(tmp_path, limit=1)
    developing = study(study={"development": ["celiac-disease-01"]})
    with pytest.raises(RunFolderError, match="development was None"):
        start(tmp_path, developing, limit=1)
