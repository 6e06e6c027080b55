"""What is wrong or risky in a set of cases, and which benchmarks each case can serve."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from openosce.cases.images import ImageStore
from openosce.cases.parts import image_part, measurement_part, patient_part
from openosce.cases.record import Case
from openosce.cases.text import tidy
from openosce.errors import CaseFileError


@dataclass(frozen=True)
class Problem:
    """One finding of the check."""

    case_id: str
    severity: Literal["wrong", "risky"]
    """`wrong`: the case cannot be scored as it stands; `risky`: it can, and the result may mislead."""
    kind: str
    """A stable name that the summary counts."""
    message: str


def check_cases(cases: Sequence[Case], images: ImageStore | None = None) -> list[Problem]:
    """Every problem of every case, in the order of the cases; of its images too where `images` says where they are."""
    seen = Counter(case.id for case in cases)
    problems: list[Problem] = []
    for case in cases:
        if seen[case.id] > 1:
            problems.append(
                Problem(case.id, "wrong", "duplicate id", f"the id occurs {seen[case.id]} times; rename all but one")
            )
        for check in _CHECKS:
            problems += check(case)
        if images:
            problems += _images(case, images)
    return problems


def duplicate_ids(cases: Sequence[Case]) -> list[str]:
    """The ids that more than one case has."""
    return [case_id for case_id, count in Counter(case.id for case in cases).items() if count > 1]


def _answer_among_choices(case: Case) -> Iterator[Problem]:
    if not case.choices or case.diagnosis.name in case.choices:
        return
    if case.diagnosis.name.strip().casefold() in {choice.strip().casefold() for choice in case.choices}:
        message = f"the answer {case.diagnosis.name!r} equals a choice only without regard to blanks and case"
        yield Problem(case.id, "risky", "answer equals no choice exactly", message)
    else:
        message = f"the answer {case.diagnosis.name!r} is not among the choices {', '.join(map(repr, case.choices))}"
        yield Problem(case.id, "wrong", "answer equals no choice exactly", message)


def _padding(case: Case) -> Iterator[Problem]:
    if case.diagnosis.name != case.diagnosis.name.strip():
        yield Problem(case.id, "risky", "blank-padded answer", f"blanks around the answer {case.diagnosis.name!r}")
    padded = [choice for choice in case.choices if choice != choice.strip()]
    if padded:
        yield Problem(case.id, "risky", "blank-padded choice", f"blanks around {', '.join(map(repr, padded))}")


def _choices(case: Case) -> Iterator[Problem]:
    names = [choice.strip().casefold() for choice in case.choices]
    broken = [choice for choice in case.choices if tidy(choice) != choice.strip()]
    if broken:
        message = f"a line break or a stray quote in {', '.join(map(repr, broken))}; doctors are shown it without"
        yield Problem(case.id, "risky", "broken choice", message)
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        yield Problem(case.id, "wrong", "repeated choice", f"the same choice twice: {', '.join(map(repr, repeated))}")
    if any(not name for name in names) or not case.diagnosis.name.strip():
        yield Problem(case.id, "wrong", "blank answer or choice", "an answer or a choice holds only blanks")


def _question(case: Case) -> Iterator[Problem]:
    if case.vignette and not case.question:
        yield Problem(case.id, "risky", "no question sentence", "no question; doctors are asked the default question")
    if case.vignette and "?" in case.vignette and case.vignette != case.question:
        yield Problem(case.id, "risky", "further question", "the vignette holds another `?` beside its question")


def _leaks(case: Case) -> Iterator[Problem]:
    part = patient_part(case)
    told = [part.occupation or "", part.informant or "", part.opening or "", part.vignette]
    told += [text for fact in part.facts for text in (fact.fact, fact.lay or "")]
    for name in (case.diagnosis.name, *case.diagnosis.synonyms):
        if any(_names(name, text) for text in told):
            message = f"the patient's part (opening, facts or vignette) names {name.strip()!r}"
            yield Problem(case.id, "risky", "diagnosis named to the patient", message)
            return


def _names(name: str, text: str) -> bool:
    words = r"\s+".join(re.escape(word) for word in name.split())
    return bool(words) and re.search(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE) is not None


def _findings_leak(case: Case) -> Iterator[Problem]:
    # AgentClinic, released cases: a result that names the diagnosis turns a diagnosis into an order.
    part = measurement_part(case)
    findings = [(f"examination {s}: {m}", finding) for s, by in part.examination.items() for m, finding in by.items()]
    findings += [(f"test {test.name}", f"{test.name}: {test.result}") for test in part.tests]
    for where, text in findings:
        if _names(case.diagnosis.name, text):
            message = f"the {where} names {case.diagnosis.name.strip()!r}"
            yield Problem(case.id, "risky", "diagnosis named in the findings", message)
            return


def _shown_leak(case: Case) -> Iterator[Problem]:
    for image in image_part(case).images:
        if any(_names(case.diagnosis.name, text or "") for text in (image.path, image.kind, image.caption)):
            message = f"path, kind or caption of the image {image.path[:200]!r} names {case.diagnosis.name.strip()!r}"
            yield Problem(case.id, "risky", "diagnosis named beside the image", message)


def _sections(case: Case) -> Iterator[Problem]:
    bare = [f"examination {system}" for system, by in case.examination.items() if not by]
    # A case that opens with an objective is a talk with a measurement agent; an image may stand for its tests.
    if case.objective:
        bare += [] if patient_part(case).facts else ["patient"]
        bare += [] if case.examination else ["examination"]
        bare += [] if case.tests or case.images else ["tests"]
    for section in bare:
        message = f"nothing under {section}; what is asked for there is answered as unknown or normal"
        yield Problem(case.id, "risky", "empty section", message)


def _images(case: Case, images: ImageStore) -> Iterator[Problem]:
    for image in case.images:
        try:
            images.load(image)
        except CaseFileError as failure:
            yield Problem(case.id, "wrong", "image cannot be had", str(failure))


def _patient(case: Case) -> Iterator[Problem]:
    if case.vignette and not patient_part(case).facts:
        message = "nothing that a patient could tell: the vignette holds only examination and tests"
        yield Problem(case.id, "risky", "no history", message)


_CHECKS: tuple[Callable[[Case], Iterator[Problem]], ...] = (
    _answer_among_choices,
    _padding,
    _choices,
    _question,
    _leaks,
    _findings_leak,
    _shown_leak,
    _sections,
    _patient,
)


def missing_parts(case: Case) -> dict[str, list[str]]:
    """For each benchmark, the parts it needs and the case lacks; an empty list: the case can serve it."""
    patient, station = case.patient, case.station
    needs: dict[str, dict[str, object]] = {
        "craft-md": {"vignette": case.vignette, "four choices": len(case.choices) == 4},
        "agentclinic": {
            "objective": case.objective,
            "patient.facts": patient and patient.facts,
            "examination or tests": case.examination or case.tests,
        },
        "medqa-cs": {
            "station.doorway": station and station.doorway,
            "station.dialogue": station and station.dialogue,
            "station.challenge": station and station.challenge,
            "station.differential": station and station.differential,
        },
    }
    return {benchmark: [part for part, there in parts.items() if not there] for benchmark, parts in needs.items()}
