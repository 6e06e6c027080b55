"""WHAT IT WAS WORTH: answers, scores, match policies, and the graders that decide."""

from openosce.grading.grader import Grader, score_answer
from openosce.grading.lexicon import LexiconGrader
from openosce.grading.metric import Metric
from openosce.grading.model_grader import ModelGrader
from openosce.grading.options import Verdict, match_option
from openosce.grading.policies import POLICIES, MatchPolicy, find_policy
from openosce.grading.record import ACCURACY, Answer, Missing, Rating, Score, Trial, TrialKey, reason_for

__all__ = [
    "ACCURACY",
    "POLICIES",
    "Answer",
    "Grader",
    "LexiconGrader",
    "MatchPolicy",
    "Metric",
    "Missing",
    "ModelGrader",
    "Rating",
    "Score",
    "Trial",
    "TrialKey",
    "Verdict",
    "find_policy",
    "match_option",
    "reason_for",
    "score_answer",
]
