"""The student on a language model: what exactly the model is sent at each section, and what never reaches it."""

import asyncio

import pytest

from openosce.benchmarks.medqa_cs import BENCHMARK, sections
from openosce.cases import STARTER, Case, read_cases
from openosce.errors import RoleError
from openosce.models import Reply, Request, load_prompts
from openosce.roles.student import ModelStudent, StudentTask

PROMPTS = load_prompts(BENCHMARK.prompts)
CASES = read_cases(STARTER)
CASE = next(case for case in CASES if case.id == "acute-pericarditis-01")
STATION = sections.station_of(CASE)
TASKS = {
    "info_gathering": sections.question_task(CASE, 3, False),
    "physical_exam": sections.exam_task(CASE, False),
    "closure": sections.closure_task(CASE, False),
    "challenge": sections.challenge_task(CASE, "We will look for the cause.", False),
    "differential": sections.differential_task(CASE, False),
}
KEYS = {
    "info_gathering": ("symptom", "reason", "question"),
    "physical_exam": ("exams", "physical exam", "maneuver", "reason"),
    "closure": ("closure",),
    "challenge": ("answer",),
    "differential": (
        "diagnosis1", "diagnosis2", "diagnosis3", "diagnosis", "Historical Findings", "Historical reasons",
        "Physical exam data", "Physical exam data reasons",
    ),
}  # fmt: skip
COMPONENTS = "Neck, Chest, Heart, Abdomen, Extremities, VS, CV, Pulmonary, Back, Hips, Neuro, HEENT, Skin"


class Recorder:
    """A model that keeps every request and says one thing."""

    def __init__(self, reply: str = "{}") -> None:
        self.requests: list[Request] = []
        self._reply = Reply(reply, finish_reason="length")

    async def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        return self._reply


def sent(task: StudentTask) -> Request:
    model = Recorder()
    assert asyncio.run(ModelStudent(model, PROMPTS).hand_in(task)) == "{}"
    (request,) = model.requests
    return request


def words(task: StudentTask) -> str:
    return "\n".join(message.content for message in sent(task).messages)


@pytest.mark.parametrize("kind", TASKS)
def test_every_prompt_holds_the_literal_keys_of_the_published_format(kind: str):
    last = sent(TASKS[kind]).messages[-1].content
    assert all(f'"{key}"' in last for key in KEYS[kind])


def test_the_thirteen_components_of_an_examination_are_named():
    assert COMPONENTS in words(TASKS["physical_exam"])


@pytest.mark.parametrize("number", [1, 2, 10])
def test_a_round_is_sent_the_reference_dialogue_before_it_and_nothing_after(number: int):
    text = words(sections.question_task(CASE, number, False))
    known, hidden = STATION.dialogue[:number], STATION.dialogue[number:]
    assert text.index(known[0].question) < text.index(known[-1].answer)
    assert all(f"Doctor: {one.question}\nPatient: {one.answer}" in text for one in known)
    assert not any(one.question in text or one.answer in text for one in hidden)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_no_section_before_the_closure_is_told_a_finding_and_no_section_the_targets(case: Case):
    station = sections.station_of(case)
    early = [words(sections.question_task(case, 2, False)), words(sections.exam_task(case, False))]
    late = [words(sections.closure_task(case, False)), words(sections.differential_task(case, False))]
    for text in early:
        assert not any(row.finding and row.finding in text for row in station.target_examinations)
    for text in (*early, *late):
        assert case.vignette is None or case.vignette not in text
        assert not any(item.historical and "; ".join(item.historical) in text for item in station.differential)
        assert not any(why.why in text for why in station.additional)
    assert not any(case.diagnosis.name.casefold() in text.casefold() for text in early)


def test_the_closure_is_written_before_the_challenging_question_is_shown():
    assert STATION.challenge
    assert STATION.challenge.question not in words(TASKS["closure"])
    assert STATION.challenge.answer not in words(TASKS["challenge"])
    first, own, question = sent(TASKS["challenge"]).messages
    assert first == sent(TASKS["closure"]).messages[0]
    assert (own.role, own.content) == ("assistant", "We will look for the cause.")
    assert STATION.challenge.question in question.content
    assert STATION.closure and STATION.closure not in words(TASKS["challenge"])


def test_the_differential_is_sent_dialogue_examination_closure_and_note():
    text = words(TASKS["differential"])
    assert STATION.note and STATION.closure
    told = (STATION.dialogue[-1].answer, "scratching sound", STATION.closure, STATION.note.history)
    assert all(part in text for part in told)


def test_each_task_has_a_step_of_its_own():
    steps = [sent(task).step for task in TASKS.values()]
    assert steps[0] == "answer/info_gathering/03"
    assert len(set(steps)) == len(steps)


@pytest.mark.parametrize("kind", ["info_gathering", "physical_exam", "differential"])
def test_a_schema_goes_along_only_where_it_is_wanted(kind: str):
    with_schema = {
        "info_gathering": sections.question_task(CASE, 3, True),
        "physical_exam": sections.exam_task(CASE, True),
        "differential": sections.differential_task(CASE, True),
    }[kind]
    assert sent(TASKS[kind]).schema is None
    schema = sent(with_schema).schema
    assert schema is not None
    assert set(schema["required"]) == set(schema["properties"])
    assert sent(with_schema).messages == sent(TASKS[kind]).messages


def test_template_syntax_in_a_case_stays_text():
    hostile = "{{ note }} {% raw %} {# c #}"
    dialogue = tuple(one.model_copy(update={"answer": hostile}) for one in STATION.dialogue[:2])
    task = StudentTask("info_gathering", "answer/info_gathering/02", hostile, dialogue)
    assert words(task).count(hostile) == 3


def test_an_empty_reply_is_a_failure_of_the_student():
    model = Recorder(" \n")
    with pytest.raises(RoleError, match="the student gave an empty reply at answer/physical_exam"):
        asyncio.run(ModelStudent(model, PROMPTS).hand_in(TASKS["physical_exam"]))
    assert [request.repeat for request in model.requests] == [0, 1, 2]
