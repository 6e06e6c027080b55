"""`builtin/examiner`: marks by the words of the case record; it needs no model, and always marks alike.

It compares questions, maneuvers and findings by the words they share, and names of diagnoses by the lexicon. What takes
reading (reasons, a closure, the quality of a differential) it does not judge and says so: a total is over the rest.
"""

from openosce.cases import Diagnosis, GraderPart
from openosce.cases.record import Round
from openosce.grading.examinations import covered, exams_of
from openosce.grading.examiner import ExaminerContext, ExaminerPart
from openosce.grading.lexicon import LexiconGrader
from openosce.grading.marks import (
    Mark,
    Marks,
    differential_scores,
    missing_scores,
    not_judged,
    scores_of,
    scores_without_targets,
)
from openosce.grading.overlap import Overlap, Words, parts, stems
from openosce.grading.policies import find_policy
from openosce.grading.record import Score
from openosce.grading.rubrics import (
    ADDITIONAL_POINTS,
    EXTRA_EXAM,
    METRICS,
    NAME_POINTS,
    ORDER_POINTS,
    REPEATED,
    MarkingRules,
    coverage,
)
from openosce.grading.student_output import (
    CLOSURE,
    AskedQuestion,
    ClosingWords,
    ExamPlan,
    ProposedDiagnosis,
    ProposedDifferential,
    ProposedExam,
    StudentOutput,
)

NAME = "builtin/examiner"

CONSISTENT, SLIGHT = 0.5, 0.3
"""The likeness from which a question is (mostly) consistent with one of the bank, and slightly so.

Of 177 questions as doctors word them about topics that the starter cases' banks hold, 117 are found at 0.5 with the
concepts of `roles.language`, 12 of them at another question of the bank; 72 and 6 by stems alone.
"""
SAME_FINDING = 0.5
"""The likeness from which two findings are one."""
_PARTIAL = 0.5  # the share of the points for a broader or narrower name
_GENERIC = stems(
    "check assess evaluate examine rule out look sign signs possible any abnormal exam due given chief complaint"
)


class RecordExaminer:
    """Marks by looking things up in the case record."""

    name = NAME
    is_rule = True

    def __init__(self, rules: MarkingRules | None = None, words: Words = stems) -> None:
        """`words` says what a question is about; a benchmark may give one that knows more synonyms."""
        self._rules = rules or MarkingRules()
        self._words = words

    async def mark(
        self, section: str, output: StudentOutput, part: ExaminerPart, context: ExaminerContext, repeat: int = 0
    ) -> tuple[Score, ...]:
        """Mark by the record; never fails."""
        if reason := part.lacks(section):
            return missing_scores(section, NAME, reason)
        match output:
            case AskedQuestion():
                return scores_of(section, self._question(output.question, part, context), NAME)
            case ExamPlan():
                marks = self._exams(output, part, context)
                if not part.station.target_examinations:
                    return scores_without_targets(output, marks, NAME)
                return scores_of(section, marks, NAME)
            case ClosingWords():
                return scores_of(section, {name: not_judged(NAME, name) for name in METRICS[CLOSURE]}, NAME)
            case ProposedDifferential():
                return differential_scores(await _differential(output, part), part.maximum, NAME)

    def _question(self, question: str, part: ExaminerPart, context: ExaminerContext) -> Marks:
        """Points by the likest question of the bank that was not asked yet; none for asking again."""
        overlap = Overlap([_with_topic(entry) for entry in part.station.dialogue], self._words)
        asked = {entry.question for entry in context.dialogue}
        new, fit = _likest(overlap, question, [entry for entry in part.station.dialogue if entry.question not in asked])
        old, again = _likest(overlap, question, context.dialogue)
        if again >= CONSISTENT and again >= fit:
            evidence = f"{question!r} repeats {old!r}, {again:.0%} alike"
            return {"points": Mark(0.0, evidence), REPEATED: Mark(1.0, evidence)}
        points = 1.0 if fit >= CONSISTENT else 0.5 if fit >= SLIGHT and self._rules.configuration == 2 else 0.0
        likest = f"likest in the bank {new!r}, {fit:.0%} alike" if new else "like nothing left in the bank"
        evidence = f"{question!r}: {likest}; {CONSISTENT:.0%} needed"
        return {"points": Mark(points, evidence), REPEATED: Mark(0.0, f"{question!r}: not asked before")}

    def _exams(self, plan: ExamPlan, part: ExaminerPart, context: ExaminerContext) -> Marks:
        targets = part.station.target_examinations
        rows = {target: covered(target, plan.exams) for target in targets}
        told = stems(f"{context.opening} {context.transcript}") - _GENERIC
        met = [exam for target in targets for exam in exams_of(target, plan.exams)]
        extra = [exam for exam in plan.exams if exam not in met and not _is_related(exam, told)]
        count = "; ".join(f"{target.component} {done:g} of {asked}" for target, (done, asked) in rows.items())
        named = "; ".join(map(str, extra))
        return {
            "coverage": Mark(coverage(list(rows.values()), self._rules.finer) if rows else 0.0, f"maneuvers: {count}"),
            "reasons": not_judged(NAME, "reasons"),
            "extra_exams": Mark(
                float(EXTRA_EXAM * len(extra)), f"neither target nor related to the dialogue: {named or 'none'}"
            ),
        }


def _with_topic(entry: Round) -> str:
    return f"{entry.topic or ''} {entry.question}"


def _likest(overlap: Overlap, question: str, entries: tuple[Round, ...] | list[Round]) -> tuple[str | None, float]:
    """The entry that is likest to a question or to one of its parts, and how like it is."""
    likeness = [
        (
            max(
                overlap.likeness(one, other)
                for one in parts(question)
                for other in (entry.question, _with_topic(entry))
            ),
            n,
        )
        for n, entry in enumerate(entries)
    ]
    best, place = max(likeness, default=(0.0, -1))
    return (entries[place].question, best) if best else (None, 0.0)


def _is_related(exam: ProposedExam, told: frozenset[str]) -> bool:
    return bool(stems(f"{exam.component} {exam.maneuver} {exam.reason}") & told)


async def _differential(output: ProposedDifferential, part: ExaminerPart) -> Marks:
    """Names by the lexicon, exact ones matched first; findings by the words they share with the matched target's."""
    matches = await _matches([one.diagnosis for one in output.diagnoses], part)
    names, historical, physical = 0.0, 0, 0
    notes = []
    for number, diagnosis in enumerate(output.diagnoses):
        points, target, how = matches.get(number, (0.0, None, "no match"))
        found = _findings(diagnosis, part, target)
        names, historical, physical = names + points, historical + found[0], physical + found[1]
        notes.append(f"{diagnosis.diagnosis}: {how}, name {points:g}, findings {found[0]} and {found[1]}")
    first = matches.get(0)
    in_order = bool(first and first[1] == 0)
    evidence = "; ".join(notes)
    return {
        "names": Mark(names, evidence),
        "historical": Mark(float(historical), evidence),
        "physical": Mark(float(physical), evidence),
        "order": Mark(float(ORDER_POINTS * in_order), evidence),
        "quality": not_judged(NAME, "the quality of a differential"),
    }


_Match = tuple[float, int | None, str]
"""Points of the name, the index of the target (None: an additional diagnosis), and how they match."""


async def _matches(names: list[str], part: ExaminerPart) -> dict[int, _Match]:
    """By the student's diagnosis: each target and each additional diagnosis is matched once, the best matches first."""
    known: list[tuple[int, int | None, str]] = [
        (NAME_POINTS, index, target.diagnosis) for index, target in enumerate(part.targets)
    ]
    known += [(ADDITIONAL_POINTS, None, other.diagnosis) for other in part.station.additional]
    possible = []
    for number, name in enumerate(names):
        for place, (worth, index, reference) in enumerate(known):
            share = await _same(name, _diagnosis(reference, part))
            if share:
                how = f"{'same as' if share == 1 else 'akin to'} {reference!r}"
                possible.append((-worth * share, number, place, (worth * share, index, how)))
    matches: dict[int, _Match] = {}
    taken = set()
    for _, number, place, match in sorted(possible, key=lambda one: one[:3]):
        if number not in matches and place not in taken:
            matches[number] = match
            taken.add(place)
    return matches


def _diagnosis(name: str, part: ExaminerPart) -> Diagnosis:
    """A reference by its name; the case's own diagnosis with all that the record knows of it."""
    return part.diagnosis if name.casefold() == part.diagnosis.name.strip().casefold() else Diagnosis(name=name)


async def _same(name: str, reference: Diagnosis) -> float:
    """1 for the same disease, a half for a broader or narrower one, else 0."""
    kind = await _kind(name, reference)
    if kind in {"same", "accepted"}:
        return 1.0
    return (
        _PARTIAL
        if kind in {"broader", "narrower"} or await _kind(reference.name, Diagnosis(name=name)) == "broader"
        else 0.0
    )


async def _kind(name: str, reference: Diagnosis) -> str:
    verdict = await LexiconGrader().grade(name, GraderPart(reference, (), ""), find_policy("paper"))
    return verdict.evidence.partition(":")[0]


def _findings(diagnosis: ProposedDiagnosis, part: ExaminerPart, target: int | None) -> tuple[int, int]:
    """How many findings of history and of examination the matched target has too."""
    if target is None:
        return 0, 0
    item = part.targets[target]
    return _in_common(diagnosis.historical, item.historical), _in_common(diagnosis.physical, item.physical)


def _in_common(proposed: tuple[str, ...], wanted: tuple[str, ...]) -> int:
    overlap, left, count = Overlap(wanted), list(wanted), 0
    for finding in proposed:
        best = max(left, key=lambda other: overlap.likeness(finding, other), default=None)
        if best is not None and overlap.likeness(finding, best) >= SAME_FINDING:
            left.remove(best)
            count += 1
    return count
