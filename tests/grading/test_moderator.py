"""The moderator's yes or no is read, not compared."""

import asyncio
from importlib import resources

import pytest

from openosce.cases import Diagnosis, GraderPart
from openosce.errors import GraderError
from openosce.grading import Answer, LexiconGrader, find_policy, score_answer
from openosce.grading.model_grader import TRIES
from openosce.grading.moderator import Moderator, read_yes_no
from openosce.models import Reply, load_prompts

PROMPTS = load_prompts([resources.files("openosce.benchmarks.agentclinic") / "prompts"])
PART = GraderPart(Diagnosis(name="Myasthenia gravis ", synonyms=("MG",), broader=("Muscle disease",)), (), "neurology")
POLICY = find_policy("moderator")


class Lines:
    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)
        self.requests = []

    async def complete(self, request):
        self.requests.append(request)
        return Reply(self._lines.pop(0))


def grade(model: Lines, answer: str = "MG", repeat: int = 0):
    return asyncio.run(Moderator("m", model, PROMPTS).grade(answer, PART, POLICY, repeat))


@pytest.mark.parametrize(
    "reply",
    ["yes", "Yes", "Yes.", "YES!", "**Yes**", "**Yes.**", "`yes`", '"Yes"', "- yes", "Yes, both are the same disease.",
     "Yes\n\nMG is myasthenia gravis; no other disease is meant.", "Answer: yes", "Verdict: Yes.",
     "Final answer: **yes**", "The two are the same.\n\nAnswer: Yes", "They are synonyms.\nYes.",
     "Yes, there is no real difference.", "yes, no doubt", "The answer is yes."],
)  # fmt: skip
def test_a_yes_is_a_yes_however_it_is_dressed(reply: str):
    assert read_yes_no(reply) is True


@pytest.mark.parametrize(
    "reply",
    [
        "no",
        "No.",
        "**No**",
        "No, they differ.",
        "Answer: No",
        "Different diseases.\nNo.",
        "NO - not the same",
        "No, no doubt.",
    ],
)
def test_a_no_is_a_no(reply: str):
    assert read_yes_no(reply) is False


@pytest.mark.parametrize(
    "reply",
    ["", " ", "I can't tell.", "Not sure", "Yes and no", "yes/no", "Yes or no?", "No idea", "No way to tell",
     "I have no idea.", "Perhaps", "Answer:", "Yes\nNo", "The diagnosis is not the same", "yesterday", "nothing", "sí",
     "No difference.", "No question"],
)  # fmt: skip
def test_anything_else_is_unreadable_and_never_a_no(reply: str):
    with pytest.raises(GraderError, match="expected yes or no"):
        read_yes_no(reply)


def test_an_unreadable_reply_is_asked_for_again_and_then_missing():
    model = Lines("hm", "", "Yes.")
    assert grade(model).value == 1.0
    assert [request.repeat for request in model.requests] == [0, 1, 2]
    score = asyncio.run(
        score_answer(
            Answer("diagnosis", "MG"), mcq=False, part=PART, policy=POLICY,
            grader=Moderator("m", Lines(*["hm"] * TRIES), PROMPTS),
        )
    ).scores[0]  # fmt: skip
    assert score.value is None
    assert (score.missing_reason or "").startswith("unreadable_verdict: expected yes or no")


def test_it_is_asked_one_question_on_the_two_texts_alone():
    model = Lines("no")
    assert grade(model, "Lambert-Eaton {{ 7*7 }}").value == 0.0
    (request,) = model.requests
    (message,) = request.messages
    assert "Myasthenia gravis\n" in message.content
    assert "Lambert-Eaton {{ 7*7 }}" in message.content


def test_the_same_pair_is_the_same_request_and_another_pair_is_another():
    first, again, other = Lines("yes"), Lines("yes"), Lines("yes")
    grade(first)
    grade(again, " MG ")
    grade(other, "Myasthenia")
    assert first.requests == again.requests
    assert first.requests[0].step != other.requests[0].step


@pytest.mark.parametrize(("answer", "value"), [("MG", 1.0), ("Muscle disease", 0.0), ("Gout", 0.0)])
def test_a_rule_under_its_policy_takes_names_of_the_same_disease_alone(answer: str, value: float):
    assert asyncio.run(LexiconGrader().grade(answer, PART, POLICY)).value == value
