"""MedQA-CS's two files: a station of our own, written out in their schema, reads back as that station."""

import json

import pytest
from typer.testing import CliRunner

from openosce.cases import read_cases
from openosce.cases.checks import missing_parts
from openosce.cases.readers import unplaced
from openosce.cases.readers.medqa_cs import NO_ANSWER
from openosce.cases.readers.medqa_cs_lists import read_additional, read_differential, read_exams, read_targets
from openosce.cases.readers.medqa_cs_texts import bare_question, read_closure, read_note, read_opening, read_round
from openosce.cli import app
from openosce.errors import CaseFileError

PROMPT = {"_type": "prompt", "input_variables": ["opening"], "template": "You are a doctor. {opening}"}


@pytest.fixture(scope="module")
def ours():
    return next(case for case in read_cases("starter") if case.id == "acute-pericarditis-01")


def opening_of(case):
    door = case.station.doorway
    vital_signs = "\n".join(f"{name}: {reading}" for name, reading in door.vital_signs.items())
    tasks = "\n".join(f"{n}. {task}" for n, task in enumerate(door.tasks, 1))
    who = f"{door.name}, a {case.patient.age}-year-old {case.patient.sex}"
    scenario = f"Opening Scenario:\n\n{who}, comes to the {door.setting}."
    return f"{scenario}\n\nVital Signs:\n\n{vital_signs}\n\nExaminee Tasks:\n\n{tasks}"


def quoted(rounds):
    """As the paper prints a dialogue: the topic, the question in quotes, the answer."""
    return "".join(f'{one.topic}\n"{one.question}" {one.answer}\n' for one in rounds)


def spoken(rounds):
    """As others would: by speakers."""
    return "".join(f"Doctor: {one.question}\nPatient: {one.answer}\n" for one in rounds)


def differential_of(case):
    parts = []
    for n, one in enumerate(case.station.differential, 1):
        history = "\n".join(one.historical) or "N/A"
        physical = "\n".join(one.physical) or "None specific"
        head = f"Diagnosis #{n}: {one.diagnosis}\nHistory Finding(s):\n{history}\n\n"
        parts.append(f"{head}Physical Exam Finding(s):\n{physical}\n")
    return "\n".join(parts)


def an_item(section, given, turn=1, truth=None, case=1, **more):
    item = {"unique_id": 0, "section": section, "case_id": case, "conversation_turn_id": turn, "input": given}
    return item | ({} if truth is None else {"ground_truth_output": truth}) | {"prompt": PROMPT, "output": {}} | more


def student_items(case, said=quoted, number=1):
    station, opening = case.station, opening_of(case)
    whole = said(station.dialogue)
    items = [
        an_item("qa", {"opening": opening, "chat_history": said(station.dialogue[:n]) or "N/A"}, n + 1,
                f'"{one.question}"')
        for n, one in enumerate(station.dialogue)
    ]  # fmt: skip
    targets = "\n".join(f"{row.component}: {', '.join(row.maneuvers)}" for row in station.target_examinations)
    closure = {
        "opening": opening,
        "chat_history": whole,
        "pre_closure": station.note.examination,
        "challenge_question": f"“{station.challenge.question}”",
    }
    sample = f"Sample Closure\n\n{station.closure}\n\nSample Examinee Response\n\n“{station.challenge.answer}”"
    told = f"{opening}\n\nPrevious dialogue:\n{whole}\nPatient Note\n\nHistory\n\n{station.note.history}\n\n"
    told += f"Physical Examination\n\n{station.note.examination}"
    items += [
        an_item("physical_exam", {"opening": opening, "chat_history": whole}, truth=targets),
        an_item("closure", closure, truth=sample),
        an_item("diagnosis", {"opening": told}, truth=differential_of(case)),
    ]
    return [item | {"unique_id": n, "case_id": number} for n, item in enumerate(items, 1)]


def exam_items(case, number=1):
    station, opening = case.station, opening_of(case)
    bank = " ".join(f'"{one.question}"' for one in station.dialogue)
    items = [
        an_item("qa", {"prev_conversation": quoted(station.dialogue[:n]) or "N/A", "opening": opening,
                       "question": {"m": "Why?"}, "ground_truth": bank}, n + 1)
        for n in range(len(station.dialogue))
    ]  # fmt: skip
    targets = "\n".join(f"{row.component}: {', '.join(row.maneuvers)}" for row in station.target_examinations)
    additional = "\n".join(f"{one.diagnosis}: {one.why}" for one in station.additional)
    sample = f"Sample Closure\n\n{station.closure}\n\nSample Examinee Response\n\n“{station.challenge.answer}”"
    items += [
        an_item("physical_exam", {"pred": {}, "target": targets, "chat_history": quoted(station.dialogue)}),
        an_item("closure", {"pred": {}, "sample_closure_and_answer": sample}),
        an_item(
            "diagnosis", {"pred": {}, "target": differential_of(case), "additional_diagnosis": additional or "N/A"}
        ),
    ]
    return [item | {"unique_id": n, "case_id": number} for n, item in enumerate(items, 1)]


@pytest.fixture
def files(tmp_path):
    """Write files into a folder."""

    def write(**contents):
        folder = tmp_path / "data"
        folder.mkdir(exist_ok=True)
        for name, content in contents.items():
            text = content if isinstance(content, str) else json.dumps(content, indent=2)
            (folder / f"{name.replace('_', '-')}.json").write_text(text, encoding="utf-8")
        return folder

    return write


@pytest.mark.parametrize("said", [quoted, spoken])
def test_a_station_written_out_in_both_files_reads_back_as_it_was(ours, files, said):
    (case,) = read_cases(files(med_student=student_items(ours, said), med_exam=exam_items(ours)))
    was, now = ours.station, case.station
    assert now.doorway == was.doorway
    assert [(r.question, r.answer) for r in now.dialogue] == [(r.question, r.answer) for r in was.dialogue]
    assert [(t.component, t.maneuvers) for t in now.target_examinations] == [
        (t.component, t.maneuvers) for t in was.target_examinations
    ]
    assert (now.challenge, now.closure, now.note) == (was.challenge, was.closure, was.note)
    assert (now.differential, now.additional) == (was.differential, was.additional)
    assert (case.id, case.source, case.license) == ("medqa-cs-01", "medqa-cs", "CC BY-NC 4.0")
    assert case.diagnosis.name == "Acute pericarditis"
    assert (case.patient.age, case.patient.sex) == (ours.patient.age, ours.patient.sex)
    assert case.patient.opening == was.dialogue[0].answer


def test_the_topics_of_the_rounds_are_kept(ours, files):
    (case,) = read_cases(files(med_student=student_items(ours)))
    assert [r.topic for r in case.station.dialogue] == [r.topic for r in ours.station.dialogue]


def test_such_a_station_serves_medqa_cs_and_nothing_of_it_is_unplaced(ours, files):
    folder = files(med_student=student_items(ours), med_exam=exam_items(ours))
    assert missing_parts(read_cases(folder)[0])["medqa-cs"] == []
    assert unplaced(folder) == []


def test_every_starter_station_reads_back(files):
    stations = [case for case in read_cases("starter") if case.station]
    items = [item for n, case in enumerate(stations, 1) for item in student_items(case, number=n)]
    read = read_cases(files(med_student=items))
    assert len(read) == len(stations) > 1
    for was, now in zip(stations, read, strict=True):
        assert now.station.dialogue == was.station.dialogue, was.id
        assert now.station.differential == was.station.differential, was.id
        assert (now.station.note, now.station.closure) == (was.station.note, was.station.closure), was.id
        assert now.station.challenge == was.station.challenge, was.id


def test_the_student_file_alone_lacks_only_the_additional_diagnoses(ours, files):
    (case,) = read_cases(files(med_student=student_items(ours)) / "med-student.json")
    assert case.station.additional == ()
    assert missing_parts(case)["medqa-cs"] == []


def test_the_exam_file_alone_tells_the_dialogue_by_its_bank_and_lacks_the_note(ours, files):
    folder = files(med_exam=exam_items(ours))
    (case,) = read_cases(folder)
    assert case.station.dialogue == ours.station.dialogue
    assert case.station.note is None
    assert case.station.challenge is None
    notes = [note for _, note in unplaced(folder)]
    assert any("patient note" in note for note in notes)
    assert any("challenging question cannot be told" in note for note in notes)


def test_json_lines_read_like_an_array(ours, files):
    lines = "\n".join(json.dumps(item) for item in student_items(ours))
    (case,) = read_cases(files(med_student=lines))
    assert case.station.dialogue == ours.station.dialogue


def test_numbers_may_be_written_as_text(ours, files):
    items = [item | {"case_id": str(item["case_id"])} for item in student_items(ours)]
    assert read_cases(files(med_student=items))[0].id == "medqa-cs-01"


def test_cases_of_our_own_may_lie_beside_the_files(ours, files):
    folder = files(med_student=student_items(ours))
    (folder / "own.yaml").write_text("id: own-1\nsource: own\ndiagnosis: {name: Gout}\n")
    assert [case.id for case in read_cases(folder)] == ["own-1", "medqa-cs-01"]


def test_a_case_without_target_examinations_has_none(ours, files):
    items = [
        item | ({"ground_truth_output": "None"} if item["section"] == "physical_exam" else {})
        for item in student_items(ours)
    ]
    assert read_cases(files(med_student=items))[0].station.target_examinations == ()


def test_an_answer_that_is_not_in_the_files_is_said_to_be_missing_and_listed(ours, files):
    items = student_items(ours)
    whole = [item for item in items if item["section"] in ("physical_exam", "closure", "diagnosis")]
    for item in whole:
        item["input"].pop("chat_history", None)
    folder = files(med_student=items)
    dialogue = read_cases(folder)[0].station.dialogue
    assert dialogue[-1].answer == NO_ANSWER
    assert NO_ANSWER not in [one.answer for one in dialogue[:-1]]
    assert unplaced(folder) == [
        ("medqa-cs-01", f"qa, turn {len(dialogue)}: the answer cannot be found in the dialogue")
    ]


def test_what_has_no_place_is_listed_by_the_check(ours, files):
    items = student_items(ours)
    items[0]["input"]["mood"] = "anxious"
    items.append(an_item("other", {"opening": "x"}, truth="y"))
    items[-2]["ground_truth_output"] = f"Read with care.\n{items[-2]['ground_truth_output']}"
    items[-1]["hint"] = "none of ours"
    folder = files(med_student=items)
    notes = [note for _, note in unplaced(folder)]
    assert any("input.mood (7 characters)" in note for note in notes)
    assert any("section that is not known" in note for note in notes)
    assert any("'Read with care.' stands under no diagnosis" in note for note in notes)
    shown = CliRunner().invoke(app, ["cases", "check", str(folder)])
    assert shown.exit_code == 0
    assert "medqa-cs-01: risky: not placed: qa, turn 1: input.mood (7 characters)" in shown.output


def test_files_that_the_authors_program_wrote_for_two_models_are_put_together(ours, files):
    one, other = student_items(ours), student_items(ours)
    one[0]["output"], other[0]["output"] = {"a": "Why?"}, {"b": "When?"}
    assert len(read_cases(files(med_student=one, med_student_b=other))) == 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"input": {"opening": "another"}}, "another `input`"),
        ({"ground_truth_output": "another"}, "another `ground_truth_output`"),
        ({"output": {"a": "Whence?"}}, "another output of 'a'"),
    ],
)
def test_two_items_of_one_turn_that_contradict_each_other_are_refused(ours, files, change, problem):
    items = student_items(ours)
    items[0]["output"] = {"a": "Why?"}
    with pytest.raises(CaseFileError, match=f"case 1, qa, turn 1: {problem}"):
        read_cases(files(med_student=items, med_student_b=[items[0] | change]))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"case_id": 0}, "case_id"),
        ({"case_id": True}, "case_id"),
        ({"case_id": "one"}, "case_id"),
        ({"case_id": 10**9}, "case_id"),
        ({"conversation_turn_id": None}, "conversation_turn_id"),
        ({"input": "text"}, "input: expected keys with values"),
        ({"output": []}, "output: expected keys with values"),
        ({"section": 3}, "section: expected text"),
    ],
)
def test_a_broken_item_is_refused_with_its_line(ours, files, change, problem):
    items = student_items(ours)
    items[1] |= change
    folder = files(med_student=items)
    text = (folder / "med-student.json").read_text()
    line = [n for n, row in enumerate(text.splitlines(), 1) if '"unique_id"' in row][1]
    with pytest.raises(CaseFileError, match=rf"med-student\.json:{line}: {problem}"):
        read_cases(folder)


def test_a_truncated_file_is_refused_with_its_line(ours, files):
    text = json.dumps(student_items(ours), indent=1)
    with pytest.raises(CaseFileError, match=r"med-student\.json:\d+: not valid JSON: .*is the file whole"):
        read_cases(files(med_student=text[: len(text) // 2]))


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (lambda text: text.replace('"turn"', "NaN"), "NaN is not JSON"),
        (lambda text: text.replace('"prompt"', '"section": "qa", "prompt"', 1), "occurs twice"),
        (lambda text: text.replace('"turn"', "[" * 100_000 + "]" * 100_000), "not valid JSON"),
    ],
)
def test_what_json_does_not_know_is_refused(ours, files, broken, problem):
    items = student_items(ours)
    items[3]["prompt"] = "turn"
    with pytest.raises(CaseFileError, match=problem):
        read_cases(files(med_student=broken(json.dumps(items))))


def test_an_item_that_is_no_object_is_refused(ours, files):
    with pytest.raises(CaseFileError, match="item 2: expected a JSON object, found '7'"):
        read_cases(files(med_student=[student_items(ours)[0], 7]))


def test_half_a_character_is_refused(ours, files):
    items = student_items(ours)
    items[-1]["ground_truth_output"] = "Diagnosis #1: Gout \ud800"
    with pytest.raises(CaseFileError, match="surrogate"):
        read_cases(files(med_student=json.dumps(items)))


def test_a_case_without_target_diagnoses_is_refused(ours, files):
    items = [item for item in student_items(ours) if item["section"] != "diagnosis"]
    with pytest.raises(CaseFileError, match=r"case 1: expected target diagnoses .* found none; give both files"):
        read_cases(files(med_student=items))


def test_a_very_long_text_is_read_in_reasonable_time(ours, files):
    items = student_items(ours)
    items[-1]["input"]["opening"] += "\n" + "history " * 200_000
    items[-2]["ground_truth_output"] += " \n" + "- * " * 100_000
    assert read_cases(files(med_student=items))[0].station.differential == ours.station.differential


def test_the_opening_of_a_child_names_who_speaks():
    found = read_opening("The mother of Mia Rand, a 5-month-old female child, calls the office about a fever.")
    assert (found.name, found.informant, found.age, found.sex) == ("Mia Rand", "mother", "5 months", "female")
    assert found.setting == "a 5-month-old female child, calls the office about a fever"


def test_an_opening_that_is_worded_otherwise_is_kept_as_the_setting():
    found = read_opening("A woman waits.\nVital Signs: afebrile")
    assert (found.name, found.setting) == ("not told", "A woman waits.")
    assert found.vital_signs == {"vital signs": "afebrile"}


@pytest.mark.parametrize(
    ("piece", "asked", "question", "answer", "topic"),
    [
        ('Onset\n"When?" Today.', ["When?"], "When?", "Today.", "Onset"),
        ('Onset: "When?" Today.', [], "When?", "Today.", "Onset"),
        ("Doctor: When?\nPatient: Today.", [], "When?", "Today.", None),
        ("Q: When?\nA: Today.", ["When?"], "When?", "Today.", None),
        ("Onset - Doctor: When?\nPatient: Today.", ["When?"], "When?", "Today.", "Onset"),
        ('"Before?" Yes. "What differs?" Worse.', ["Before?"], "Before?", 'Yes. "What differs?" Worse.', None),
    ],
)  # fmt: skip
def test_a_round_is_told_in_any_of_its_likely_wordings(piece, asked, question, answer, topic):
    said = read_round(piece, asked)
    assert (said.question, said.answer, said.topic) == (question, answer, topic)


def test_a_question_loses_its_quotes_but_not_those_inside():
    assert bare_question('"What is it?"') == "What is it?"
    assert bare_question("Onset: “When did it start?”") == "When did it start?"
    assert bare_question('Did you say "never"?') == 'Did you say "never"?'


def test_targets_are_told_by_colon_tab_or_the_word_exam():
    text = "Exam Component Maneuver\nNeck exam: carotid auscultation\n"
    text += "CV exam Inspection, palpation (heaves, thrills)\nSkin"
    assert read_targets(text) == [
        ("Neck exam", ["carotid auscultation"]),
        ("CV exam", ["Inspection", "palpation (heaves, thrills)"]),
        ("Skin", []),
    ]


def test_a_differential_is_read_with_its_reasons_and_inline_findings():
    found, loose = read_differential(
        "Note\n**Diagnosis #1: Gout**\n- *History Finding(s)*: Hot toe, red, Beer\nHistorical reasons: \nIt fits\n\n"
        "Physical Exam Finding(s): \nN/A \n\nPhysical exam data reasons: \nN/A \n"
    )
    assert [one.diagnosis for one in found] == ["Gout"]
    assert found[0].findings == {
        "historical": ["Hot toe, red", "Beer"], "why_historical": ["It fits"], "physical": [], "why_physical": []
    }  # fmt: skip
    assert loose == ["Note"]


def test_exams_are_read_as_the_authors_program_words_them():
    text = "Heart: auscultation\nreason: chest pain:\nbad\nNeck: JVD\nreason: failure\n"
    assert read_exams(text) == [("Heart", "auscultation", "chest pain:\nbad"), ("Neck", "JVD", "failure")]
    assert read_exams("") == []
    assert read_exams("I would listen to the heart.") is None


def test_a_closure_without_headings_has_no_answer():
    assert read_closure("We will do tests.") == ("We will do tests.", "", "")


def test_additional_diagnoses_go_on_over_lines():
    assert read_additional("first\nGout: fits\nthe toe") == ([("Gout", "fits the toe")], ["first"])


def test_a_note_that_begins_with_the_present_illness_is_found():
    assert read_note("x\nHPI: 46 yo M.\nPMH: none\nPhysical Examination\nNeck: free") == (
        "HPI: 46 yo M.\nPMH: none",
        "Neck: free",
    )
