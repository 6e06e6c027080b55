"""An examiner on any model: it replies with marks and explanations as JSON, and we do the sums.

Source: MedQA-CS 2024, Tables 9-10; the prompts in `benchmarks/medqa_cs/prompts/` are in our own words.
"""

import hashlib
import json
from collections.abc import Callable
from typing import TypeVar

from openosce.cases.record import DifferentialItem
from openosce.errors import EncounterError, GraderError
from openosce.grading.examiner import ExaminerContext, ExaminerPart
from openosce.grading.json_reply import Shape, read_object, schema_of
from openosce.grading.marks import (
    Mark,
    Marks,
    differential_scores,
    missing_scores,
    scores_of,
    scores_without_targets,
)
from openosce.grading.record import Score, reason_for
from openosce.grading.rubrics import MarkingRules
from openosce.grading.student_output import (
    CLOSURE,
    DIFFERENTIAL,
    INFO_GATHERING,
    PHYSICAL_EXAM,
    AskedQuestion,
    ClosingWords,
    ExamPlan,
    ProposedDifferential,
    StudentOutput,
)
from openosce.grading.verdicts import ClosureVerdict, DifferentialVerdict, ExamVerdict, QuestionVerdict
from openosce.models import ChatMessage, Model, PromptPack, Request

TRIES = 3
"""How often an examiner is asked before its verdict counts as unreadable."""

NOTHING_PROPOSED = "no examination proposed"
NOT_APPLICABLE = "N/A"

_V = TypeVar("_V", bound=Shape)


class ModelExaminer:
    """Marks with a language model; the same output in the same context is the same request."""

    is_rule = False

    def __init__(
        self, name: str, model: Model, prompts: PromptPack, rules: MarkingRules | None = None, schema: bool = True
    ) -> None:
        """`schema`: whether the endpoint is sent the JSON schema of a verdict, besides the prompt's own words."""
        self.name = name
        self._has_schema = schema
        self._model = model
        self._prompts = prompts
        self._rules = rules or MarkingRules()

    async def mark(
        self, section: str, output: StudentOutput, part: ExaminerPart, context: ExaminerContext, repeat: int = 0
    ) -> tuple[Score, ...]:
        """Ask for marks; out of range or unreadable, they are asked for again, and missing in the end."""
        if reason := part.lacks(section):
            return missing_scores(section, self.name, reason)
        try:
            match output:
                case AskedQuestion():
                    marks = await self._question(output, part, context, repeat)
                case ExamPlan():
                    marks = await self._exams(output, part, context, repeat)
                    if not part.station.target_examinations:
                        return scores_without_targets(output, marks, self.name)
                case ClosingWords():
                    marks = await self._closure(output, part, repeat)
                case ProposedDifferential():
                    marks = await self._differential(output, part, repeat)
                    return differential_scores(marks, part.maximum, self.name)
        except EncounterError as failure:
            if isinstance(output, ExamPlan) and not part.station.target_examinations:
                return scores_without_targets(output, None, self.name, reason_for(failure))
            return missing_scores(section, self.name, reason_for(failure))
        return scores_of(section, marks, self.name)

    async def _question(
        self, output: AskedQuestion, part: ExaminerPart, context: ExaminerContext, repeat: int
    ) -> Marks:
        configuration = self._rules.configuration
        prompt = self._prompts.render(
            "examine_info_gathering",
            configuration=configuration,
            opening=context.opening,
            dialogue=context.transcript,
            question=output.question,
            bank="\n".join(f"- {entry.question}" for entry in part.station.dialogue),
        )
        return await self._ask(
            INFO_GATHERING, prompt, repeat, QuestionVerdict, lambda verdict: verdict.marks(output, configuration)
        )

    async def _exams(self, output: ExamPlan, part: ExaminerPart, context: ExaminerContext, repeat: int) -> Marks:
        if not output.exams:
            return dict.fromkeys(("coverage", "reasons", "extra_exams"), Mark(0.0, NOTHING_PROPOSED))
        targets = part.station.target_examinations
        prompt = self._prompts.render(
            "examine_physical_exam",
            finer=self._rules.finer,
            opening=context.opening,
            dialogue=context.transcript,
            answer=_as_json(output),
            targets="\n".join(f"- {row.component}: {', '.join(row.maneuvers) or 'any maneuver'}" for row in targets),
        )
        return await self._ask(PHYSICAL_EXAM, prompt, repeat, ExamVerdict, lambda verdict: verdict.marks(output))

    async def _closure(self, output: ClosingWords, part: ExaminerPart, repeat: int) -> Marks:
        challenge = part.station.challenge
        prompt = self._prompts.render(
            "examine_closure",
            closure=output.closure,
            answer=output.answer,
            challenge=challenge.question if challenge else "",
            sample_closure=part.station.closure or "",
            sample_answer=challenge.answer if challenge else "",
        )
        return await self._ask(CLOSURE, prompt, repeat, ClosureVerdict, lambda verdict: verdict.marks(output))

    async def _differential(self, output: ProposedDifferential, part: ExaminerPart, repeat: int) -> Marks:
        prompt = self._prompts.render(
            "examine_differential",
            answer=_as_json(output),
            targets="\n".join(_target(number, item) for number, item in enumerate(part.targets, 1)),
            additional="\n".join(f"- {other.diagnosis}: {other.why}" for other in part.station.additional),
        )
        return await self._ask(
            DIFFERENTIAL, prompt, repeat, DifferentialVerdict, lambda verdict: verdict.marks(output, part)
        )

    async def _ask(
        self, section: str, prompt: str, repeat: int, shape: type[_V], marks: Callable[[_V], Marks]
    ) -> Marks:
        """Ask until the verdict can be read and its marks are in range, within the limit of tries."""
        # Marks stand outside case and trial: the step names the question itself.
        step = f"examine/{section}/{hashlib.sha256(prompt.encode('utf-8', 'replace')).hexdigest()[:16]}"
        messages, schema = (ChatMessage("user", prompt),), schema_of(shape) if self._has_schema else None
        problem = ""
        for number in range(repeat * TRIES, (repeat + 1) * TRIES):
            reply = await self._model.complete(Request(messages, step, number, schema))
            read = read_object(reply.text, shape)
            if read.value is None:
                problem = read.problem or ""
                continue
            try:
                return marks(read.value)
            except GraderError as out_of_range:
                problem = str(out_of_range)
        raise GraderError(f"{problem} ({TRIES} tries)")


def _as_json(output: Shape) -> str:
    return json.dumps(output.model_dump(by_alias=True, mode="json"), ensure_ascii=False, indent=1)


def _target(number: int, item: DifferentialItem) -> str:
    return (
        f"target {number}: {item.diagnosis}\n"
        f"  Historical Findings: {'; '.join(item.historical) or NOT_APPLICABLE}\n"
        f"  Physical exam data: {'; '.join(item.physical) or NOT_APPLICABLE}"
    )
