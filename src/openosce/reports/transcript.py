"""One trial for the terminal: who said what to whom, why it ended, and what the answers were worth."""

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from openosce.cases import Case
from openosce.cases.record import StationPart
from openosce.encounters import DOCTOR, PATIENT, Encounter, Message
from openosce.grading.record import Answer, Score, Trial
from openosce.reports.station_sheet import criteria, handed_in, is_section
from openosce.reports.table import sheet_table
from openosce.reports.text import visible

_COLOURS = {DOCTOR: "cyan", PATIENT: "green"}


def case_heading(case: Case) -> Text:
    """The case, where it comes from, and its reference diagnosis."""
    origin = " · ".join(part for part in (case.specialty, case.source) if part)
    return _line(("case ", "dim"), (case.id, "bold"), (f"  {origin}  ", "dim"), ("reference diagnosis ", "dim")).append(
        visible(case.diagnosis.name), style="bold"
    )


def transcript(trial: Trial, station: StationPart | None = None) -> RenderableType:
    """One trial, whole. Texts are shown as they are, save control characters, which are made visible.

    The sections of a clinical-skills station are shown as an examiner's sheet; `station` is what its case wanted.
    """
    key = trial.key
    title = _line((key.doctor, "bold"), (f"  {key.condition}, case {key.case_id}, trial {key.trial}", "dim"))
    messages = [_message(message) for message in trial.encounter.transcript]
    answers = [_sheet(one, station) if is_section(one.arm) else _answer(one) for one in trial.answers]
    return Group(Text(), title, Text(), *messages, _ending(trial.encounter), Text(), *answers)


def _message(message: Message) -> RenderableType:
    to = f" to {message.listener}" if message.listener else ", to end"
    return Group(
        _line((message.speaker, f"bold {_COLOURS.get(message.speaker, 'magenta')}"), (to, "dim")), _body(message.text)
    )


def _ending(encounter: Encounter) -> Text:
    style = "bold red" if encounter.ended.is_failure else "bold"
    error = f": {encounter.error}" if encounter.error else ""
    return _line(("ended ", "dim"), (encounter.ended.value, style), (error, ""))


def _answer(answer: Answer) -> RenderableType:
    parts: list[RenderableType] = [_line((answer.arm, "bold"))]
    if answer.text is not None:
        parts.append(_body(answer.text))
    if answer.missing_reason:
        parts.append(_body(f"missing: {answer.missing_reason}", "yellow"))
    parts += [_body(_score_line(score), "dim") for score in answer.scores]
    return Group(*parts)


def _sheet(answer: Answer, station: StationPart | None) -> RenderableType:
    parts: list[RenderableType] = [_line((answer.arm, "bold")), _body(handed_in(answer, station))]
    if answer.missing_reason:
        parts.append(_body(f"missing: {answer.missing_reason}", "yellow"))
    marks = criteria(answer)
    return Group(*parts, *([Padding(sheet_table(marks), (1, 0, 0, 4))] if marks else []))


def _score_line(score: Score) -> str:
    value = "not scored" if score.value is None else f"{score.value:g}"
    why = [part for part in (score.evidence, score.missing_reason and f"missing: {score.missing_reason}") if part]
    return " · ".join([f"{score.metric} {value}", f"graded by {score.grader}", f"policy {score.policy}", *why])


def _line(*parts: tuple[str, str]) -> Text:
    return Text.assemble(*((visible(text), style) for text, style in parts))


def _body(text: str, style: str = "") -> Padding:
    return Padding(Text(visible(text), style=style), (0, 0, 0, 4))
