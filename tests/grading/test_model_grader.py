import asyncio
from importlib import resources

import pytest

from openosce.cases import Diagnosis, GraderPart
from openosce.errors import GraderError, ProviderError, RefusedError
from openosce.grading import POLICIES, Answer, ModelGrader, score_answer
from openosce.grading.model_grader import TRIES, read_extracted, read_verdict
from openosce.models import Reply, Script, load_prompts

PROMPTS = load_prompts([resources.files("openosce.grading") / "prompts"])
PART = GraderPart(Diagnosis(name="Gout ", accepted=("Pseudogout",)), (), "Rheumatology")


class Listening:
    """A model that gives its replies one after the other and keeps the requests; errors are raised."""

    def __init__(self, *replies):
        self._replies = list(replies)
        self.requests = []

    async def complete(self, request):
        self.requests.append(request)
        reply = self._replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return Reply(reply)


def grade(model, answer="It is gout.", policy="paper", part=PART):
    return asyncio.run(ModelGrader("m", model, PROMPTS).grade(answer, part, POLICIES[policy]))


def scored(model, text="gout"):
    grader = ModelGrader("m", model, PROMPTS)
    (score,) = asyncio.run(
        score_answer(Answer("frq", text), mcq=False, part=PART, policy=POLICIES["paper"], grader=grader)
    ).scores
    return score


def test_a_diagnosis_is_extracted_and_then_compared():
    model = Listening("Gout", "yes")
    verdict = grade(model)
    assert (verdict.value, verdict.evidence) == (1.0, "same: 'Gout' as 'Gout'")
    extract, compare = (request.messages[0].content for request in model.requests)
    assert "It is gout." in extract
    assert "Rheumatology" in extract
    assert "It is gout." not in compare
    assert [request.step.rsplit("/", 1)[0] for request in model.requests] == ["grade/extract", "grade/compare"]


def test_a_scripted_model_grades_by_step():
    assert grade(Script({"grade/extract/*": "Gout", "grade/compare/*": "No."})).value == 0.0


@pytest.mark.parametrize("extracted", ["None", "multiple", "**Multiple**", "None."])
def test_none_and_multiple_are_wrong_without_a_comparison(extracted):
    model = Listening(extracted)
    assert grade(model).value == 0.0
    assert len(model.requests) == 1


def test_a_disease_that_begins_with_multiple_is_compared():
    assert grade(Listening("Multiple sclerosis", "no")).evidence == "other: 'Multiple sclerosis'"


def test_the_same_answer_is_the_same_request_and_another_is_another():
    first, again, other = Listening("Gout", "yes"), Listening("Gout", "yes"), Listening("Gout", "yes")
    grade(first)
    grade(again)
    grade(other, answer="Perhaps gout.")
    assert first.requests == again.requests
    assert first.requests[0].step != other.requests[0].step


def test_an_unreadable_reply_is_asked_for_again_as_a_repeat():
    model = Listening("", "Gout", "perhaps", "yes or no", "Yes.")
    assert grade(model).value == 1.0
    assert [request.repeat for request in model.requests] == [0, 1, 0, 1, 2]


def test_replies_that_stay_unreadable_leave_no_verdict():
    model = Listening("Gout", *["perhaps"] * TRIES)
    with pytest.raises(GraderError, match=r"expected yes or no.*'perhaps'.*3 tries"):
        grade(model)
    assert not model._replies


@pytest.mark.parametrize(
    ("failing", "reason"),
    [
        (Listening("Gout", "perhaps", "", "hm"), "unreadable_verdict: "),
        (Listening("", " ", "**"), "unreadable_verdict: "),
        (Listening(ProviderError("down")), "provider_failed: down"),
        (Listening("Gout", RefusedError("filtered")), "refused: filtered"),
    ],
)
def test_without_a_verdict_the_score_is_missing_with_its_reason(failing, reason):
    score = scored(failing)
    assert score.value is None
    assert score.missing_reason.startswith(reason)


def test_concurrent_diagnoses_are_each_compared_where_any_counts():
    model = Listening("Cellulitis; Gout;", "no", "yes")
    assert grade(model, policy="released").evidence == "same: 'Gout' as 'Gout'"
    assert grade(Listening("Cellulitis; ;", "no"), policy="released").value == 0.0


def test_accepted_alternatives_are_compared_where_the_policy_takes_them():
    assert grade(Listening("Pseudogout", "no", "yes"), policy="preprint_2023").value == 1.0
    assert grade(Listening("Pseudogout", "no")).value == 0.0


@pytest.mark.parametrize(
    "hostile", ["{{ 7 * 7 }}", "{% for x in y %}", "{{ reference.__class__ }}", "{# gone #}", "\0\\1"]
)
def test_template_syntax_in_an_answer_stays_text(hostile):
    model = Listening(hostile, "no")
    assert grade(model, answer=hostile, part=GraderPart(Diagnosis(name=hostile + "!"), (), hostile)).value == 0.0
    extract, compare = (request.messages[0].content for request in model.requests)
    assert extract.count(hostile) == 2
    assert hostile + "!" in compare


@pytest.mark.parametrize(
    "reply", ["yes", "Yes.", "**Yes**", "'yes'", "YES!", "Yes, the same", "The answer is yes", "\n yes\n"]
)
def test_yes_is_read(reply):
    assert read_verdict(reply) is True


@pytest.mark.parametrize(
    "reply", ["no", "No.", "**No**", "No, they differ", "no; the other would be a subtype", "It is: No"]
)
def test_no_is_read(reply):
    assert read_verdict(reply) is False


@pytest.mark.parametrize(
    "reply",
    [
        "",
        " ",
        "perhaps",
        "yes or no",
        "Yes/No",
        "Yes. No.",
        "no and yes",
        "Not at all",
        "noyes",
        "the same, yes, not no",
    ],
)
def test_neither_and_both_are_unreadable(reply):
    with pytest.raises(GraderError, match="expected yes or no"):
        read_verdict(reply)


@pytest.mark.parametrize(
    "reply", ["Gout", "gout.", "**Gout**", '"Gout"', "Diagnosis: Gout", "Answer: gout", "\n\nGout\nBecause of the toe."]
)
def test_the_first_line_is_the_extracted_name(reply):
    assert read_extracted(reply).casefold() == "gout"


@pytest.mark.parametrize("reply", ["", "\n \n", "**", "'", "Diagnosis:", "x" * 201])
def test_an_empty_or_endless_name_is_unreadable(reply):
    with pytest.raises(GraderError, match="expected a diagnosis name"):
        read_extracted(reply)
