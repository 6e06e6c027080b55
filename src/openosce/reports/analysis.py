"""From a run to its results: estimates, comparisons, and what is missing and why."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openosce.encounters import DOCTOR
from openosce.grading.record import ACCURACY, Missing
from openosce.reports.corrected import corrected_accuracies
from openosce.reports.examiner_agreement import examiner_agreements
from openosce.reports.expert_agreement import expert_agreements
from openosce.reports.plan import COST, Plan
from openosce.reports.results import (
    ALL,
    Analysis,
    ArmEstimate,
    Average,
    Comparison,
    CostPerCorrect,
    Count,
    Ending,
    Failure,
    GradedEstimate,
    Group,
    Normalized,
    Side,
    TurnCount,
)
from openosce.reports.scores import COUNTED_EVIDENCE, ScoreTable, mean_of_trials, read_every_metric
from openosce.runs.folder import CaseRow, RunReader
from openosce.statistics import (
    Difference,
    Estimate,
    clustering,
    holm,
    mean_of_means,
    mean_over_cases,
    paired_difference,
    paired_ratio,
)


def analyze_run(reader: RunReader, absent: str = Missing.NOT_RUN) -> Analysis:
    """Compute all results of a run under its headline policy; the scores of a metric are read once.

    Missing is not wrong: a case's value is the mean over its valid trials, and a case without any leaves the estimate
    and is counted. `absent` is the reason of a planned answer of which there is no trace.

    Raises:
        RunFolderError: The run cannot be read, or does not say what was planned.
    """
    table, *others = read_every_metric(reader, absent)
    return Analysis(
        plan=table.plan,
        n_cases=len(table.cases),
        estimates=tuple(chain(_estimates(table), *(_estimates(other, by_group=False) for other in others))),
        gradings=table.gradings,
        graded=tuple(_graded(table)),
        comparisons=tuple(chain.from_iterable(_comparisons(one) for one in (table, *others))),
        missing=tuple(_missing(table)),
        incorrect=tuple(_counts(table, table.evidence, COUNTED_EVIDENCE)),
        endings=tuple(Ending(*row) for row in reader.endings()),
        turns=tuple(TurnCount(*row) for row in _turns(reader)),
        failed=tuple(Failure(*row) for row in reader.failed()),
        calls=tuple(reader.calls()),
        shared_verdicts=reader.shared_verdicts(),
        normalized=tuple(_normalized(table)),
        cost_per_correct=tuple(_costs_per_correct(table, others)),
        unmeasured=tuple(chain.from_iterable(_missing(other) for other in others)),
        corrected=corrected_accuracies(reader),
        experts=expert_agreements(reader),
        examiners=tuple(examiner_agreements(reader)),
        averages=tuple(_averages(table)),
    )


def _estimates(table: ScoreTable, *, by_group: bool = True) -> Iterator[ArmEstimate]:
    metric, means = table.metric, table.case_means()
    groups = _members(table.cases) if by_group else {ALL: np.arange(len(table.cases))}
    for d, doctor in enumerate(table.plan.doctors):
        for a, arm in _arms(table):
            n_trials = table.plan.trials_of(arm)
            for group, members in groups.items():
                estimate = _over_cases(means[d, a, members])
                values = table.values[d, a, members, :n_trials]
                n_missing, alike = int(np.isnan(values).sum()), clustering(values)
                yield ArmEstimate(doctor, arm, group, len(members), n_trials, n_missing, estimate, alike, metric)


def _arms(table: ScoreTable) -> list[tuple[int, str]]:
    """The columns in which the metric is measured, with their places."""
    measured = table.plan.arms_of(table.metric)
    return [(a, arm) for a, arm in enumerate(table.plan.arms) if arm in measured]


def _averages(table: ScoreTable) -> Iterator[Average]:
    """The average of the arms of every condition, where they are parts of one examination."""
    plan, means = table.plan, table.case_means()
    places = dict(enumerate(plan.columns)) if plan.averages_arms else {}
    for d, doctor in enumerate(plan.doctors):
        for condition in plan.conditions if places else ():
            parts = [a for a, column in places.items() if column.condition == condition]
            yield Average(doctor, condition, mean_of_means(means[d, parts].T))


def _graded(table: ScoreTable) -> Iterator[GradedEstimate]:
    for grading, values in zip(table.gradings, table.under, strict=True):
        means = mean_of_trials(values)
        for d, doctor in enumerate(table.plan.doctors):
            for a, arm in _arms(table):
                estimate = _over_cases(means[d, a])
                yield GradedEstimate(doctor, arm, grading, len(table.cases), estimate, table.metric.name)


def _over_cases(means: NDArray[np.float64]) -> Estimate:
    return mean_over_cases(means[~np.isnan(means)])


def _members(cases: tuple[CaseRow, ...]) -> dict[Group, NDArray[np.intp]]:
    """The groups that occur, each with the places of its cases: all, specialties, data sets, then both joined."""
    places: dict[Group, list[int]] = {ALL: list(range(len(cases)))}
    by_specialty = [Group(specialty=case.specialty) for case in cases]
    by_dataset = [Group(dataset=case.dataset) for case in cases]
    # Without a specialty, the joint group is the data set itself.
    jointly = [Group(case.specialty, case.dataset) if case.specialty is not None else ALL for case in cases]
    for groups in (by_specialty, by_dataset, jointly):
        for place, group in enumerate(groups):
            if group != ALL:
                places.setdefault(group, []).append(place)
    return {group: np.array(members, dtype=np.intp) for group, members in places.items()}


_Values = tuple[Side, NDArray[np.float64]]


def _comparisons(table: ScoreTable) -> Iterator[Comparison]:
    """Arm against arm within each doctor, then doctor against doctor within each arm."""
    plan, means, metric = table.plan, table.case_means(), table.metric.name
    of = "" if metric == plan.headline.name else f", {metric}"
    for d, doctor in enumerate(plan.doctors):
        arms = [(Side(doctor, arm), means[d, a]) for a, arm in _arms(table)]
        yield from _family(f"arms of {doctor}{of}", metric, _pairs(arms, plan))
    for a, arm in _arms(table):
        doctors = [(Side(doctor, arm), means[d, a]) for d, doctor in enumerate(plan.doctors)]
        yield from _family(f"doctors in {arm}{of}", metric, combinations(doctors, 2))


def _pairs(sides: Sequence[_Values], plan: Plan) -> Iterable[tuple[_Values, _Values]]:
    """Every pair or, in a sweep, every arm with the one that it is compared with; parts only with themselves."""
    if plan.reference is None:
        return () if plan.averages_arms else combinations(sides, 2)
    partner = plan.baseline if plan.averages_arms else plan.compared_with
    by_arm = {side.arm: (side, values) for side, values in sides}
    others = ((pair, by_arm.get(partner(arm) or "")) for arm, pair in by_arm.items())
    return ((pair, other) for pair, other in others if other is not None)


def _family(name: str, metric: str, pairs: Iterable[tuple[_Values, _Values]]) -> Iterator[Comparison]:
    """The pairs of a family, each on the cases valid in both, adjusted together."""
    found = [Comparison(a, b, name, _paired(x, y), metric=metric) for (a, x), (b, y) in pairs]
    for pair, p_adjusted in zip(found, holm([pair.difference.p for pair in found]), strict=True):
        yield replace(pair, p_adjusted=p_adjusted)


def _paired(a: NDArray[np.float64], b: NDArray[np.float64]) -> Difference:
    both = ~np.isnan(a) & ~np.isnan(b)
    return paired_difference(a[both], b[both])


def _normalized(table: ScoreTable) -> Iterator[Normalized]:
    """Every swept column against the same arm of the reference; only a scale that starts at 0 has such ratios."""
    plan, metric = table.plan, table.metric
    if metric.low != 0:
        return
    means, places = table.case_means(), {arm: a for a, arm in enumerate(plan.arms)}
    for d, doctor in enumerate(plan.doctors):
        for a, arm in _arms(table):
            reference = plan.baseline(arm)
            if reference is not None:
                ratio = paired_ratio(means[d, a], means[d, places[reference]])
                yield Normalized(doctor, arm, reference, metric.name, ratio)


def _costs_per_correct(table: ScoreTable, others: Sequence[ScoreTable]) -> Iterator[CostPerCorrect]:
    """The mean cost by the mean accuracy of every column in which both are measured."""
    costs = next((other for other in others if other.metric.name == COST), None)
    if costs is None or table.metric.name != ACCURACY:
        return
    means, prices = table.case_means(), costs.case_means()
    for d, doctor in enumerate(table.plan.doctors):
        for a, arm in _arms(costs):
            if (a, arm) in _arms(table):
                yield CostPerCorrect(doctor, arm, COST, paired_ratio(prices[d, a], means[d, a]))


def _missing(table: ScoreTable) -> Iterator[Count]:
    """Why scores of the metric are missing, where it is measured."""
    measured = table.plan.arms_of(table.metric)
    return (row for row in _counts(table, table.reasons, table.reason_names) if row.arm in measured)


def _counts(table: ScoreTable, codes: NDArray[Any], names: tuple[str, ...]) -> Iterator[Count]:
    """Count the codes in every doctor's arm, most frequent first; -1 is none of them."""
    for d, doctor in enumerate(table.plan.doctors):
        for a, arm in enumerate(table.plan.arms):
            counts = Counter(codes[d, a][codes[d, a] >= 0].tolist())
            for code, count in counts.most_common():
                yield Count(doctor, arm, names[code], count, table.metric.name)


def _turns(reader: RunReader) -> list[tuple[Any, ...]]:
    """Doctor, condition, why encounters ended, how often the doctor spoke in them, and how many there are."""
    spoken = "SELECT COUNT(*) FROM messages m WHERE m.encounter_id = e.id AND m.speaker = ?"
    sql = f"""SELECT doctor, condition, ended, ({spoken}) AS turns, COUNT(*) FROM encounters e
              GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"""
    return reader.rows(sql, (DOCTOR,))
