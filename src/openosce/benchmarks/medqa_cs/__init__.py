"""MedQA-CS: the four sections of a clinical-skills station (README.md beside this file)."""

from importlib import resources

from openosce.benchmarks.benchmark import Benchmark
from openosce.benchmarks.medqa_cs.expectation import expect
from openosce.benchmarks.medqa_cs.handing_in import VALID
from openosce.benchmarks.medqa_cs.roles import ROLES
from openosce.benchmarks.medqa_cs.rounds import BANK_COVERAGE
from openosce.benchmarks.medqa_cs.settings import MedQACSSettings
from openosce.benchmarks.medqa_cs.trial import mark, run_trial
from openosce.grading import Metric
from openosce.grading.rubrics import METRICS, NO_POLICY, REPEATED, RUBRICS, SCORE
from openosce.grading.student_output import INFO_GATHERING

__all__ = ["BENCHMARK", "mark"]


def _sections(settings: MedQACSSettings) -> tuple[str, ...]:
    return settings.sections


def _policy(settings: MedQACSSettings) -> str:
    return settings.policy


def _is_mcq(section: str) -> bool:
    return False


def _most_trials(settings: MedQACSSettings) -> dict[str, int]:
    return {INFO_GATHERING: settings.info_trials}


def _measures(settings: MedQACSSettings) -> tuple[Metric, ...]:
    """The total of every section, then what is counted by rule, then the criteria of the rubrics.

    The headline has no lower bound: the physical examination's total is not clipped.
    """
    total = Metric(SCORE, settings.policy, "examiner", low=None, high=100.0, words="section score, 0-100")
    valid = Metric(VALID, NO_POLICY, "rule", words="share of replies of the asked shape")
    asked = Metric(BANK_COVERAGE, NO_POLICY, "rule", (INFO_GATHERING,), words="share of the bank's questions asked")
    metrics = dict.fromkeys(metric for section in settings.sections for metric in METRICS[section])
    criteria = (_criterion(metric, settings.sections) for metric in metrics)
    return (total, valid, *((asked,) if INFO_GATHERING in settings.sections else ()), *criteria)


def _criterion(metric: str, sections: tuple[str, ...]) -> Metric:
    arms = tuple(section for section in sections if metric in METRICS[section])
    words = metric.replace("_", " ")
    if metric == REPEATED:
        return Metric(metric, NO_POLICY, "examiner", arms, words="share of questions asked before")
    found = [c for section in arms for c in RUBRICS[section].criteria if c.name == metric and section != INFO_GATHERING]
    if not found:  # points, whose highest number is the case's
        return Metric(metric, NO_POLICY, "examiner", arms, 0.0, None, words)
    (criterion,) = found
    low = criterion.low if criterion.high else None
    return Metric(metric, NO_POLICY, "examiner", arms, low, criterion.high, words)


BENCHMARK = Benchmark(
    name="medqa-cs",
    settings=MedQACSSettings,
    roles=ROLES,
    prompts=(resources.files("openosce.benchmarks.medqa_cs") / "prompts",),
    arms=_sections,
    is_mcq=_is_mcq,
    policy=_policy,
    run_trial=run_trial,
    mark=mark,
    expect=expect,
    measures=_measures,
    most_trials=_most_trials,
    averages_arms=True,
)
