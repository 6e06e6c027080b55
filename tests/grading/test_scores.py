import asyncio

import pytest

from openosce.cases import Diagnosis, GraderPart
from openosce.errors import GraderError, ProviderError, RefusedError, RoleError, StudyError
from openosce.grading import (
    POLICIES,
    Answer,
    LexiconGrader,
    Score,
    Verdict,
    find_policy,
    reason_for,
    score_answer,
)

PART = GraderPart(Diagnosis(name="Gout"), ("Gout", "Mumps"), "x")


class Unasked:
    """A grader that must not be asked."""

    name = "unasked"
    is_rule = False

    async def grade(self, answer, part, policy, repeat=0):
        raise AssertionError("asked to grade")


def score(answer, *, mcq=False, policy="paper", grader=None):
    return asyncio.run(
        score_answer(
            answer,
            mcq=mcq,
            part=PART,
            policy=POLICIES[policy],
            grader=grader or LexiconGrader(),
            others=POLICIES.values(),
        )
    )


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("mcq", [True, False])
@pytest.mark.parametrize("text", [None, "", " \n"])
def test_where_there_is_no_answer_the_score_is_missing_and_nobody_is_asked(text, mcq, policy):
    scored = score(Answer("frq", text, "refused: filtered"), mcq=mcq, policy=policy, grader=Unasked())
    assert (scored.text, scored.missing_reason) == (None, "refused: filtered")
    assert [(s.value, s.missing_reason) for s in scored.scores] == [(None, "no_answer")]


def test_a_blank_answer_without_a_reason_is_an_empty_reply():
    assert score(Answer("frq", " ")).missing_reason == "empty_reply"


def test_a_multiple_choice_answer_is_scored_by_rule_except_where_the_policy_asks_the_grader():
    scored = score(Answer("mcq", "A"), mcq=True, grader=Unasked()).scores[0]
    assert (scored.value, scored.grader, scored.policy) == (1.0, "options", "paper@1")
    graded = score(Answer("mcq", "Gout"), mcq=True, policy="preprint_2023").scores[0]
    assert (graded.value, graded.grader) == (1.0, "builtin/lexicon")


def test_other_policies_are_scored_where_a_rule_can_and_a_model_is_not_asked_for_them():
    by_rule = score(Answer("frq", "crystal arthritis")).scores
    assert {s.policy for s in by_rule} == {str(policy) for policy in POLICIES.values()}
    options = score(Answer("mcq", "Gout, not Mumps"), mcq=True, grader=Unasked()).scores
    assert {s.policy: s.value for s in options} == {
        "paper@1": 0.0,
        "released@1": 0.0,
        "strict@1": 0.0,
        "as_published@1": 1.0,
        "first_named@1": 1.0,
        "moderator@1": 0.0,
    }

    class Counted(Unasked):
        asked = 0

        async def grade(self, answer, part, policy, repeat=0):
            self.asked += 1
            return Verdict(float(repeat % 2), f"try {repeat}")

    grader = Counted()
    kept = asyncio.run(
        score_answer(Answer("frq", "Gout"), mcq=False, part=PART, policy=POLICIES["paper"], grader=grader, repeats=3)
    )
    assert [(s.policy, s.value) for s in kept.scores] == [("paper@1", 0.0), ("paper@1", 1.0), ("paper@1", 0.0)]
    assert grader.asked == 3


def test_a_wrong_answer_is_a_zero_with_evidence():
    scored = score(Answer("frq", "Mumps")).scores[0]
    assert (scored.value, scored.evidence, scored.missing_reason) == (0.0, "other: Mumps", None)


def test_earlier_scores_are_kept():
    earlier = Score("accuracy", 1.0, "strict@1", "x")
    assert score(Answer("frq", "Mumps", scores=(earlier,))).scores[0] == earlier


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RefusedError("r"), "refused: r"),
        (ProviderError("p"), "provider_failed: p"),
        (GraderError("g"), "unreadable_verdict: g"),
        (RoleError("e"), "empty_reply: e"),
    ],
)
def test_a_failure_is_stored_under_the_boundary_it_crossed(error, reason):
    assert reason_for(error) == reason


def test_policies_are_found_by_name_and_carry_their_version():
    assert {str(find_policy(name)) for name in POLICIES} == {
        f"{name}@{policy.version}" for name, policy in POLICIES.items()
    }
    with pytest.raises(StudyError, match=r"unknown match policy 'Paper'; known are paper, released"):
        find_policy("Paper")
