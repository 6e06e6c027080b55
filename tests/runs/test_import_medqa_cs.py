"""The outputs in MedQA-CS's two files as a run: answers, marks, and everything that is irregular in them."""

import asyncio
import json

import pytest
from typer.testing import CliRunner

from openosce.benchmarks.medqa_cs.rounds import read_rounds
from openosce.cases.record import Diagnosis, Round, StationPart
from openosce.cli import app
from openosce.errors import CaseFileError, InputError, ResultsFileError, RunFolderError, StudyError
from openosce.grading.examiner import ExaminerContext, ExaminerPart
from openosce.grading.student_output import AskedQuestion
from openosce.reports.analysis import analyze_run
from openosce.runs.folder import RunReader
from openosce.runs.imports.irregular import Irregular, Tally
from openosce.runs.imports.medqa_cs import import_medqa_cs, prepare_medqa_cs
from openosce.runs.imports.medqa_cs_marks import ReleasedExaminer

STUDENT, OTHER, EXAMINER, SECOND = "gpt-4", "qwen", "gpt-4-1106", "opus"
OPENING = (
    "Opening Scenario:\n\nMr. Bo Rand, a 58-year-old male, comes to the office.\n\nVital Signs:\n\nPulse: 80/min\n\n"
    "Examinee Tasks:\n\n1. Take a history."
)
DIALOGUE = [("What brings you in?", "My toe hurts."), ("Since when?", "Last night."), ("Any fever?", "No.")]
TARGETS = "Extremities: inspection, palpation\nHeart: auscultation"
DIFFERENTIAL = """Diagnosis #1: Gout
History Finding(s):
Pain since last night
Beer

Physical Exam Finding(s):
Red toe

Diagnosis #2: Cellulitis
History Finding(s):
Pain since last night

Physical Exam Finding(s):
None

Diagnosis #3: Fracture
History Finding(s):
Pain since last night

Physical Exam Finding(s):
None
"""
# As the authors' program words what it has read out of a reply.
EXAMS = "Extremities: inspection\nreason: the toe hurts\nSkin: inspection\nreason: a rash\n"
DIAGNOSES = "".join(
    f"Diagnosis #{n}: {name}\nHistorical Finding(s): \nPain\n\nHistorical reasons: \nIt fits\n\n"
    "Physical Exam Finding(s): \nN/A \n\nPhysical exam data reasons: \nN/A \n\n\n"
    for n, name in enumerate(("Gout", "Sepsis", "Bunion"), 1)
)
CLOSING = "Closure: Mr. Rand, it may be gout; we will test your blood.\n\nQuestion Answer: We will help you walk again."
OUTPUTS = {("qa", 1): "What is wrong?", ("qa", 2): "When did it begin?", ("qa", 3): "What is wrong?"}
OUTPUTS |= {("physical_exam", 1): EXAMS, ("closure", 1): CLOSING, ("diagnosis", 1): DIAGNOSES}
EXAM_MARKS = {"score1": 30, "score2": 20, "score3": -10, "overall score": 40}
EXAM_MARKS |= {f"explanation{n}": "because" for n in range(1, 4)}
CLOSURE_MARKS = {f"score{n}": score for n, score in enumerate((10, 15, 30, 10, 8), 1)} | {"overall score": 73}
CLOSURE_MARKS |= {f"explanation{n}": "because" for n in range(1, 6)}
DIAGNOSIS_MARKS = {
    **{"diagnosis 1 name": 10, "diagnosis 1 historical finding": 1, "diagnosis 1 physical finding": 0},
    **{"diagnosis 2 name": 0, "diagnosis 2 historical finding": 0, "diagnosis 2 physical finding": "N/A"},
    **{"diagnosis 3 name": 2, "diagnosis 3 historical finding": 0, "diagnosis 3 physical finding": "N/A"},
    **{"order": 10, "total score": "23/50", "quality score": 3, "reason": "fair"},
}
SAID = {("qa", 1): "Score: 1\nReason: as in the bank", ("qa", 2): "Score: 1\nReason: as in the bank"}
SAID |= {("qa", 3): json.dumps({"reason": "asked before", "score": "0"})}
SAID |= {("physical_exam", 1): json.dumps(EXAM_MARKS), ("closure", 1): f"```json\n{json.dumps(CLOSURE_MARKS)}\n```"}
SAID |= {("diagnosis", 1): json.dumps(DIAGNOSIS_MARKS, indent=2)}


def said_until(turn):
    return "".join(f'"{question}" {answer}\n' for question, answer in DIALOGUE[: turn - 1]) or "N/A"


def inputs(section, turn):
    """What a student is given, what it should write, and what an examiner is given besides."""
    whole = said_until(len(DIALOGUE) + 1)
    if section == "qa":
        bank = " ".join(f'"{question}"' for question, _ in DIALOGUE)
        given = {"opening": OPENING, "chat_history": said_until(turn)}
        marked = {"opening": OPENING, "prev_conversation": said_until(turn), "ground_truth": bank}
        return given, f'"{DIALOGUE[turn - 1][0]}"', marked
    if section == "physical_exam":
        return {"opening": OPENING, "chat_history": whole}, TARGETS, {"target": TARGETS, "chat_history": whole}
    if section == "closure":
        given = {"opening": OPENING, "chat_history": whole, "pre_closure": "Toe red.", "challenge_question": "Cut it?"}
        sample = "Sample Closure: Gout or an infection; a blood test.\n\nSample Answer: No."
        return given, sample, {"sample_closure_and_answer": sample}
    told = f"{OPENING}\n\nHistory\n\nHPI: 58 yo M with a painful toe.\n\nPhysical Examination\n\nToe red."
    return {"opening": told}, DIFFERENTIAL, {"target": DIFFERENTIAL, "additional_diagnosis": "Bunion: too slow"}


def a_release(outputs, said, case=1):
    """Both files' items for one case.

    `outputs`: by student, section and turn; `said`: by student, examiner, section and turn.
    """
    student, exam = [], []
    for section, turn in OUTPUTS:
        given, truth, marked = inputs(section, turn)
        head = {"unique_id": len(student) + 1, "section": section, "case_id": case, "conversation_turn_id": turn}
        written = {name: by[section, turn] for name, by in outputs.items() if (section, turn) in by}
        verdicts = {
            name: {who: by[section, turn] for who, by in examiners.items() if (section, turn) in by}
            for name, examiners in said.items()
        }
        answers = {"question" if section == "qa" else "pred": written}
        student.append({**head, "input": given, "ground_truth_output": truth, "prompt": {}, "output": dict(written)})
        exam.append({**head, "input": {**marked, **answers}, "prompt": {}, "output": verdicts})
    return student, exam


@pytest.fixture
def write(tmp_path):
    def files(student=None, exam=None, name="data"):
        folder = tmp_path / name
        folder.mkdir()
        for kind, items in (("student", student), ("exam", exam)):
            if items is not None:
                (folder / f"med-{kind}.json").write_text(json.dumps(items))
        return folder

    return files


@pytest.fixture
def imported(write, tmp_path):
    """Import a release, and hand over the prepared import and its trials by student and case."""

    def run(student, exam=None, out="run"):
        folder = write(student, exam)
        prepared = prepare_medqa_cs(folder, str(folder), tmp_path / out)
        import_medqa_cs(prepared)
        with RunReader(tmp_path / out) as reader:
            trials = [trial for case in reader.cases() for trial in reader.trials(case.id)]
        return prepared, {(trial.key.doctor, trial.key.case_id): trial for trial in trials}

    return run


def regular():
    return a_release({STUDENT: OUTPUTS}, {STUDENT: {EXAMINER: SAID}})


def answer_of(trials, section, doctor=STUDENT, case="medqa-cs-01"):
    return next(answer for answer in trials[f"medqa-cs/{doctor}", case].answers if answer.arm == section)


def scores_of(answer, policy="-", examiner=EXAMINER):
    by = (f"medqa-cs/{examiner}", "rule")
    return {score.metric: score for score in answer.scores if score.policy == policy and score.grader in by}


def values(answer, policy="-"):
    return {name: score.value for name, score in scores_of(answer, policy).items()}


def irregular(prepared, doctor=STUDENT):
    return next(found.tally.counts for found in prepared.results if found.doctor == f"medqa-cs/{doctor}")


def test_questions_are_stored_a_round_each_beside_the_reference(imported):
    _, trials = imported(*regular())
    answer = answer_of(trials, "info_gathering")
    rounds = read_rounds(answer.text)
    assert [(one.round, one.question) for one in rounds] == [
        (0, "What is wrong?"),
        (1, "When did it begin?"),
        (2, "What is wrong?"),
    ]
    assert [(one.reference.question, one.reference.answer) for one in rounds] == DIALOGUE


def test_a_section_of_questions_has_its_points_by_rounds(imported):
    _, trials = imported(*regular())
    found = values(answer_of(trials, "info_gathering"))
    assert (found["round_00"], found["round_01"], found["round_02"]) == (1, 1, 0)
    assert found["points"] == 2
    assert values(answer_of(trials, "info_gathering"), "as_published@1")["score"] == pytest.approx(200 / 3)


def test_whether_a_reply_had_its_shape_is_not_released_where_the_program_reworded_it(imported):
    _, trials = imported(*regular())
    for section in ("info_gathering", "physical_exam", "differential"):
        score = scores_of(answer_of(trials, section))["valid_output"]
        assert score.value is None
        assert score.missing_reason.startswith("not_released")
    assert scores_of(answer_of(trials, "closure"))["valid_output"].value == 1


def test_examinations_become_the_shape_that_is_asked_for(imported):
    _, trials = imported(*regular())
    answer = answer_of(trials, "physical_exam")
    assert json.loads(answer.text)["exams"] == [
        {"physical exam": "Extremities", "maneuver": "inspection", "reason": "the toe hurts"},
        {"physical exam": "Skin", "maneuver": "inspection", "reason": "a rash"},
    ]


def test_the_totals_of_an_examination_are_ours_under_both_weightings(imported):
    # By hand, MedQA-CS 2024, captions of Tables 35-37: 0.6 x 50 + 0.4 x 50 + 0.5 x -10; by its prompt 30 + 20 - 10.
    _, trials = imported(*regular())
    answer = answer_of(trials, "physical_exam")
    assert values(answer, "as_published@1") == {"score": 45}
    assert values(answer, "as_prompted@1") == {"score": 40}


def test_a_closure_is_kept_as_it_came_and_marked_by_its_parts(imported):
    # By hand, App. I.3.1: 0.2 x 50 + 0.4 x 50 + 0.2 x 100 + 0.1 x 100 + 0.1 x 80.
    _, trials = imported(*regular())
    answer = answer_of(trials, "closure")
    assert answer.text == CLOSING
    assert values(answer, "as_published@1")["score"] == pytest.approx(68)
    assert values(answer, "as_prompted@1")["score"] == pytest.approx(73)


def test_a_differential_is_marked_over_the_points_of_the_case(imported):
    # 30 for names, 9 for histories, 1 examination finding, 10 for the order.
    _, trials = imported(*regular())
    answer = answer_of(trials, "differential")
    assert json.loads(answer.text)["diagnosis1"]["Historical Findings"] == ["Pain"]
    assert values(answer, "as_published@1")["score"] == pytest.approx(100 * 23 / 50)
    assert values(answer)["quality"] == 3


def test_regular_files_have_only_the_irregularities_of_their_wording(imported):
    prepared, _ = imported(*regular())
    assert irregular(prepared) == {Irregular.VERDICT_AS_TEXT: 2, Irregular.NUMBER_AS_TEXT: 1}


def test_the_run_says_who_played_what_and_what_is_measured(imported, tmp_path):
    imported(*regular())
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["study"]["roles"]["examiner"]["model"] == f"medqa-cs/{EXAMINER}"
    assert manifest["plan"]["metrics"][0]["name"] == "score"
    assert manifest["plan"]["trials"] == 1
    assert manifest["imported"] == "osce import medqa-cs"


def test_the_analysis_finds_the_sections_scores(imported, tmp_path):
    imported(*regular())
    with RunReader(tmp_path / "run") as reader:
        analysis = analyze_run(reader)
    found = {row.arm: row.estimate.mean for row in analysis.estimates if row.metric.name == "score"}
    assert found["physical_exam"] == pytest.approx(45)
    assert found["differential"] == pytest.approx(46)
    assert not analysis.comparisons  # sections are parts of one examination
    assert [row.estimate.n_cases for row in analysis.averages] == [1]


def test_only_the_student_file_gives_answers_without_marks(imported):
    prepared, trials = imported(regular()[0])
    assert answer_of(trials, "closure").text == CLOSING
    assert not [score for score in answer_of(trials, "closure").scores if score.metric == "score"]
    assert "no examiner's verdict is in the files" in prepared.study.notes


def test_only_the_exam_file_gives_answers_and_marks(imported):
    _, trials = imported(None, regular()[1])
    assert values(answer_of(trials, "physical_exam"), "as_published@1") == {"score": 45}
    assert values(answer_of(trials, "differential"), "as_published@1")["score"] == pytest.approx(46)


def test_a_second_examiners_marks_stand_beside_the_firsts(imported):
    marks = {("physical_exam", 1): json.dumps(EXAM_MARKS | {"score1": 60})}
    prepared, trials = imported(*a_release({STUDENT: OUTPUTS}, {STUDENT: {SECOND: marks, EXAMINER: SAID}}))
    answer = answer_of(trials, "physical_exam")
    assert scores_of(answer, "as_published@1", SECOND)["score"].value == 75
    assert scores_of(answer, "as_published@1")["score"].value == 45
    assert prepared.study.roles == {"examiner": f"medqa-cs/{EXAMINER}"}
    assert not [s for s in answer_of(trials, "closure").scores if SECOND in s.grader]


def test_what_a_student_did_not_write_is_missing_and_not_wrong(imported):
    some = {key: value for key, value in OUTPUTS.items() if key not in (("qa", 2), ("closure", 1))}
    said = {key: value for key, value in SAID.items() if key in some}
    verdicts = {STUDENT: {EXAMINER: SAID}, OTHER: {EXAMINER: said}}
    prepared, trials = imported(*a_release({STUDENT: OUTPUTS, OTHER: some}, verdicts))
    closure = answer_of(trials, "closure", OTHER)
    assert (closure.text, closure.missing_reason.partition(":")[0]) == (None, "not_released")
    assert scores_of(closure, "as_published@1")["score"].missing_reason == "no_answer"
    found = values(answer_of(trials, "info_gathering", OTHER))
    assert (found["round_01"], found["points"]) == (None, 1)
    assert irregular(prepared, OTHER)[Irregular.NO_OUTPUT] == 2


def test_a_case_that_a_student_has_not_done_is_missing_as_a_whole(imported):
    one, two = a_release({STUDENT: OUTPUTS, OTHER: OUTPUTS}, {}), a_release({STUDENT: OUTPUTS}, {}, case=2)
    _, trials = imported(one[0] + two[0])
    missing = [answer.missing_reason for answer in trials[f"medqa-cs/{OTHER}", "medqa-cs-02"].answers]
    assert all(reason.startswith("not_released") for reason in missing)


@pytest.mark.parametrize(
    ("change", "section", "missing", "kind"),
    [
        ({("qa", 2): "No JSON found in text"}, "info_gathering", None, Irregular.NO_JSON),
        ({("qa", 2): '{"symptom": "pain"}'}, "info_gathering", None, Irregular.OTHER_SHAPE),
        ({("qa", 2): "  "}, "info_gathering", None, Irregular.BLANK),
        ({("qa", 2): ["a"]}, "info_gathering", None, Irregular.OTHER_TYPE),
        ({("physical_exam", 1): "I would look at the toe."}, "physical_exam", "invalid_output", Irregular.OTHER_SHAPE),
        ({("diagnosis", 1): DIAGNOSES.partition("Diagnosis #3")[0]}, "differential", "invalid_output",
         Irregular.OTHER_SHAPE),
        ({("closure", 1): "\n"}, "closure", "no_answer", Irregular.BLANK),
        ({("closure", 1): {"closure": "x"}}, "closure", "no_answer", Irregular.OTHER_TYPE),
    ],
)  # fmt: skip
def test_an_irregular_output_is_counted_and_leaves_no_mark(imported, change, section, missing, kind):
    prepared, trials = imported(*a_release({STUDENT: OUTPUTS | change}, {STUDENT: {EXAMINER: SAID}}))
    assert irregular(prepared)[kind] == 1
    assert irregular(prepared)[Irregular.UNUSED_VERDICT] == 1
    answer = answer_of(trials, section)
    if missing is None:
        assert values(answer)["round_01"] is None
        assert values(answer)["points"] == 1
        return
    score = scores_of(answer, "as_published@1")["score"]
    assert (score.value, score.missing_reason.partition(":")[0]) == (None, missing)


def test_a_verdict_that_finds_no_answer_to_stand_on_is_kept_as_evidence(imported):
    _, trials = imported(*a_release({STUDENT: OUTPUTS | {("physical_exam", 1): "Look."}}, {STUDENT: {EXAMINER: SAID}}))
    answer = answer_of(trials, "physical_exam")
    assert answer.text == "Look."
    assert '"score1": 30' in scores_of(answer, "as_published@1")["score"].evidence


def test_outputs_that_are_json_still_are_read_as_such(imported):
    exams = json.dumps({"exams": [{"physical exam": "Skin", "maneuver": "inspection", "reason": "rash"}]})
    question = json.dumps({"symptom": "fever", "reason": "infection", "question": "Any fever?"})
    changed = OUTPUTS | {("physical_exam", 1): exams, ("qa", 1): question}
    _, trials = imported(*a_release({STUDENT: changed}, {STUDENT: {EXAMINER: SAID}}))
    assert scores_of(answer_of(trials, "physical_exam"))["valid_output"].value == 1
    assert read_rounds(answer_of(trials, "info_gathering").text)[0].symptom == "fever"


@pytest.mark.parametrize(
    ("place", "said", "kind"),
    [
        (("physical_exam", 1), json.dumps(EXAM_MARKS | {"score1": 61}), Irregular.UNREADABLE_VERDICT),
        (("physical_exam", 1), json.dumps(EXAM_MARKS | {"score2": 30}), Irregular.UNREADABLE_VERDICT),
        (("physical_exam", 1), json.dumps(EXAM_MARKS | {"score3": -50}), Irregular.UNREADABLE_VERDICT),
        (("physical_exam", 1), json.dumps(EXAM_MARKS | {"score1": "many"}), Irregular.UNREADABLE_VERDICT),
        (("physical_exam", 1), json.dumps(EXAM_MARKS)[:-20], Irregular.UNREADABLE_VERDICT),
        (("physical_exam", 1), "", Irregular.UNREADABLE_VERDICT),
        (("physical_exam", 1), json.dumps(EXAM_MARKS | {"score1": float("nan")}), Irregular.UNREADABLE_VERDICT),
        (("physical_exam", 1), '{"score1": 0, ' + json.dumps(EXAM_MARKS)[1:], Irregular.UNREADABLE_VERDICT),
        (("physical_exam", 1), '{"score1": ' + "[" * 50_000, Irregular.UNREADABLE_VERDICT),
        (("diagnosis", 1), json.dumps(DIAGNOSIS_MARKS | {"diagnosis 1 physical finding": 3}),
         Irregular.UNREADABLE_VERDICT),
        (("physical_exam", 1), ["a"], Irregular.OTHER_TYPE),
        (("closure", 1), None, Irregular.OTHER_TYPE),
    ],
)  # fmt: skip
def test_a_verdict_that_cannot_stand_is_counted_and_is_no_score(imported, place, said, kind):
    prepared, trials = imported(*a_release({STUDENT: OUTPUTS}, {STUDENT: {EXAMINER: SAID | {place: said}}}))
    assert irregular(prepared)[kind] == 1
    section = {"diagnosis": "differential"}.get(place[0], place[0])
    score = scores_of(answer_of(trials, section), "as_published@1")["score"]
    assert score.value is None
    assert score.missing_reason.partition(":")[0] in ("unreadable_verdict", "not_released")


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"score1": "30"}, Irregular.NUMBER_AS_TEXT),
        ({"overall score": 55}, Irregular.OTHER_TOTAL),
        ({"overall score": "55"}, Irregular.OTHER_TOTAL),
        ({"explanation2": ["a", "b"]}, None),
    ],
)
def test_what_can_be_mended_in_a_verdict_is_and_is_counted(imported, change, kind):
    said = SAID | {("physical_exam", 1): json.dumps(EXAM_MARKS | change)}
    prepared, trials = imported(*a_release({STUDENT: OUTPUTS}, {STUDENT: {EXAMINER: said}}))
    before = {Irregular.VERDICT_AS_TEXT: 2, Irregular.NUMBER_AS_TEXT: 1}
    counted = irregular(prepared)
    assert kind is None or counted[kind] == before.get(kind, 0) + 1
    assert values(answer_of(trials, "physical_exam"), "as_published@1") == {"score": 45}


def test_a_verdict_without_explanation_counts(imported):
    said = SAID | {("qa", 1): json.dumps({"score": 1})}
    prepared, trials = imported(*a_release({STUDENT: OUTPUTS}, {STUDENT: {EXAMINER: said}}))
    assert irregular(prepared)[Irregular.NO_EXPLANATION] == 1
    assert values(answer_of(trials, "info_gathering"))["round_00"] == 1


def test_a_verdict_that_is_not_there_is_missing(imported):
    said = {key: value for key, value in SAID.items() if key != ("qa", 3)}
    prepared, trials = imported(*a_release({STUDENT: OUTPUTS}, {STUDENT: {EXAMINER: said}}))
    assert irregular(prepared)[Irregular.VERDICT_MISSING] == 1
    score = scores_of(answer_of(trials, "info_gathering"))["round_02"]
    assert (score.value, score.missing_reason.partition(":")[0]) == (None, "not_released")
    assert values(answer_of(trials, "info_gathering"), "as_published@1")["score"] == 100


def test_an_output_that_differs_between_the_files_counts_as_it_was_marked(imported):
    student, exam = regular()
    student[0]["output"][STUDENT] = "Quite another question?"
    prepared, trials = imported(student, exam)
    assert read_rounds(answer_of(trials, "info_gathering").text)[0].question == "What is wrong?"
    assert irregular(prepared)[Irregular.OTHER_OUTPUT] == 1


def test_a_turn_without_a_round_is_counted(imported):
    student, exam = regular()
    extra = json.loads(json.dumps(student[3])) | {"conversation_turn_id": 2, "unique_id": 99}
    prepared, _ = imported([*student, extra], exam)
    assert irregular(prepared)[Irregular.OTHER_ROUND] == 1


def test_half_a_character_is_replaced_and_counted(imported):
    said = SAID | {("qa", 1): "Score: 1\nReason: \ud800"}
    changed = OUTPUTS | {("closure", 1): CLOSING + "\udc00"}
    prepared, trials = imported(*a_release({STUDENT: changed}, {STUDENT: {EXAMINER: said}}))
    assert irregular(prepared)[Irregular.HALF_CHARACTER] == 2
    assert answer_of(trials, "closure").text == CLOSING + "\ufffd"


def test_a_case_without_target_examinations_leaves_the_mean_and_is_marked_as_published(imported):
    student, exam = regular()
    student[3]["ground_truth_output"] = exam[3]["input"]["target"] = "None"
    _, trials = imported(student, exam)
    answer = answer_of(trials, "physical_exam")
    assert scores_of(answer, "as_prompted@1")["score"].missing_reason.startswith("case_lacks_part")
    assert values(answer, "as_published@1")["score"] == pytest.approx(0.4 * 50 - 5)


def test_an_import_goes_on_and_does_nothing_twice(imported, tmp_path):
    prepared, _ = imported(*regular())
    written = []
    assert import_medqa_cs(prepared, written.append) == 1
    assert written == []


def test_other_outputs_are_not_added_to_a_run(imported, write, tmp_path):
    imported(*regular())
    other = write(*a_release({STUDENT: OUTPUTS | {("qa", 1): "Why?"}}, {}), name="other")
    with pytest.raises(RunFolderError, match="holds another study"):
        import_medqa_cs(prepare_medqa_cs(other, str(other), tmp_path / "run"))


def test_files_that_nobody_answered_are_refused(write, tmp_path):
    folder = write(*a_release({}, {}))
    with pytest.raises(ResultsFileError, match="holds no student's output"):
        prepare_medqa_cs(folder, str(folder), tmp_path / "run")


def test_other_files_are_refused(tmp_path):
    with pytest.raises(ResultsFileError, match=r"expected MedQA-CS's med-student\.json"):
        prepare_medqa_cs("starter", "starter", tmp_path / "run")
    with pytest.raises(CaseFileError, match="no such case file"):
        prepare_medqa_cs(tmp_path / "none", "starter", tmp_path / "run")


def test_cases_of_another_release_are_refused(write, tmp_path):
    folder = write(*regular())
    with pytest.raises(ResultsFileError, match="case 1 is no 'medqa-cs-01' in starter"):
        prepare_medqa_cs(folder, "starter", tmp_path / "run")
    bare = tmp_path / "bare.yaml"
    bare.write_text("id: medqa-cs-01\nsource: s\ndiagnosis: {name: Gout}\n")
    with pytest.raises(StudyError, match="medqa-cs-01 has no station"):
        prepare_medqa_cs(folder, str(bare), tmp_path / "run")


@pytest.mark.parametrize("name", ["", " ", "a\nb", "\x1b[31m", "m" * 201])
def test_a_model_without_a_name_is_refused(write, tmp_path, name):
    folder = write(*a_release({name: OUTPUTS}, {}))
    with pytest.raises(ResultsFileError, match="expected a model's name"):
        prepare_medqa_cs(folder, str(folder), tmp_path / "run")


@pytest.mark.parametrize("said", ["score: one", "Score: " + "9" * 400, "Score: 1.1.1 and so on", "Score"])
def test_a_verdict_in_text_without_a_number_is_none(said):
    tally = Tally()
    examiner = ReleasedExaminer("medqa-cs/x", {("info_gathering", 1): said}, tally, "here")
    output = AskedQuestion(symptom="", reason="", question="Why?")
    part = ExaminerPart(StationPart(dialogue=(Round(question="Why?", answer="No."),)), Diagnosis(name="Gout"))
    scores = asyncio.run(examiner.mark("info_gathering", output, part, ExaminerContext("")))
    assert {score.value for score in scores} == {None}
    assert tally.counts[Irregular.UNREADABLE_VERDICT] == 1


def invoke(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_command_imports_shows_what_is_irregular_and_every_verb_goes_on_from_there(write, tmp_path):
    some = {key: value for key, value in OUTPUTS.items() if key != ("closure", 1)}
    one = a_release({STUDENT: OUTPUTS, OTHER: some}, {STUDENT: {EXAMINER: SAID}, OTHER: {EXAMINER: SAID}})
    two = a_release({STUDENT: OUTPUTS, OTHER: OUTPUTS}, {STUDENT: {EXAMINER: SAID}, OTHER: {EXAMINER: SAID}}, case=2)
    folder, run = write(one[0] + two[0], one[1] + two[1]), tmp_path / "run"
    result = invoke("import", "medqa-cs", folder, "--cases", folder, "--out", run)
    assert result.exit_code == 0, result.exception
    assert "student's output is missing" in " ".join(result.output.split())
    assert "4 trials of medqa-cs/gpt-4, medqa-cs/qwen on 2 cases" in result.output
    for verb in (("analyze", run), ("show", run), ("report", run)):
        done = invoke(*verb)
        assert done.exit_code == 0, (verb, done.output, done.exception)
    analysis = json.loads(invoke("analyze", run, "--json").stdout)
    row = next(
        row
        for row in analysis["estimates"]
        if (row["model"], row["arm"], row["metric"]) == ("medqa-cs/qwen", "closure", "score")
    )
    assert (row["n_cases"], row["n_missing"]) == (1, 1)


def test_the_command_refuses_in_one_line(tmp_path):
    result = invoke("import", "medqa-cs", tmp_path / "none", "--out", tmp_path / "run")
    assert isinstance(result.exception, InputError)
    assert "\n" not in str(result.exception)
    assert not (tmp_path / "run").exists()
