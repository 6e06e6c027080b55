"""MedQA-CS's `med-student.json` and `med-exam.json`: the 44 cases of a clinical-skills examination as stations.

Source: the authors' description of the two files (bio-nlp/MedQA-CS), their program, and MedQA-CS 2024, Tables 8-9 (the
names of the inputs) and Appendix B (one case). The files themselves were not at hand: what is known is the items' keys,
that inputs are texts, and how the questions of `qa` follow each other. Either file gives the cases, both together all
of their parts; `unplaced` says of every case what found no place in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from openosce.cases.readers.medqa_cs_items import (
    CLOSURE,
    DIAGNOSIS,
    PHYSICAL_EXAM,
    QA,
    SECTIONS,
    Files,
    Item,
    read_items,
)
from openosce.cases.readers.medqa_cs_lists import read_additional, read_differential, read_targets
from openosce.cases.readers.medqa_cs_texts import (
    Opening,
    as_text,
    bare_question,
    read_bank,
    read_closure,
    read_note,
    read_opening,
    read_round,
    says_nothing,
)
from openosce.cases.readers.validate import to_case
from openosce.cases.record import Case
from openosce.errors import CaseFileError

SOURCE = "medqa-cs"
LICENSE = "CC BY-NC 4.0"
NO_ANSWER = "[the answer is not in the files]"
"""What the patient says where a question's answer cannot be found; the case's check says where."""

_HISTORIES = ("chat_history", "prev_conversation")
_INPUTS: Mapping[str, tuple[str, ...]] = {
    QA: ("opening", *_HISTORIES, "ground_truth", "question"),
    PHYSICAL_EXAM: ("opening", *_HISTORIES, "target", "pred"),
    CLOSURE: ("opening", *_HISTORIES, "pre_closure", "challenge_question", "sample_closure_and_answer",
              "sample_closure", "sample_answer", "pred"),
    DIAGNOSIS: ("opening", *_HISTORIES, "target", "additional_diagnosis", "pred"),
}  # fmt: skip
"""By section, the inputs that are read; of `diagnosis`, any other may hold the patient note."""


def case_id(number: int) -> str:
    """The id of a case by its number in the files."""
    return f"{SOURCE}-{number:02}"


def read_medqa_cs(files: Files) -> list[Case]:
    """The cases of one release, whatever its files hold of them, by their numbers.

    Raises:
        CaseFileError: An item is broken or contradicts another, or a case has no diagnosis.
    """
    return [case for case, _ in _read(files)]


def unplaced(files: Files) -> list[tuple[str, str]]:
    """What of the files found no place in a case, in their order: the case's id, and what it is."""
    return [(case.id, note) for case, notes in _read(files) for note in notes]


def _read(files: Files) -> list[tuple[Case, list[str]]]:
    by_number: dict[int, list[Item]] = {}
    for item in read_items(files):
        by_number.setdefault(item.case, []).append(item)
    read = []
    for number, items in sorted(by_number.items()):
        builder = _Builder(number, items)
        record = builder.record()
        read.append((to_case(record, Path(items[0].place), lambda _: None), builder.notes))
    return read


@dataclass
class _Builder:
    """One case in the making."""

    number: int
    items: Sequence[Item]
    notes: list[str] = field(default_factory=list)

    def record(self) -> dict[str, object]:
        self._note_the_unknown()
        opening = self._opening()
        differential = self._differential()
        dialogue = self._dialogue()
        first = dialogue[0]["answer"] if dialogue else None
        told = {"age": opening.age, "sex": opening.sex, "informant": opening.informant} if opening else {}
        return {
            "id": case_id(self.number),
            "source": SOURCE,
            "license": LICENSE,
            "diagnosis": {"name": differential[0]["diagnosis"]},
            "patient": {**told, "opening": first if first != NO_ANSWER else None} if opening or first else None,
            "station": {
                "doorway": _doorway(opening) if opening else None,
                "dialogue": dialogue,
                "target_examinations": self._targets(),
                **self._closure(),
                "note": self._note(),
                "differential": differential,
                "additional": self._additional(),
            },
        }

    def _of(self, section: str) -> list[Item]:
        return [item for item in self.items if item.section == section]

    def _text(self, section: str, *names: str) -> str:
        """The first of these inputs that says something; `truth` is what a student should have written."""
        found = []
        for item in self._of(section):
            texts = (as_text(item.truth if name == "truth" else item.input.get(name)) for name in names)
            found += [text for text in texts if not says_nothing(text)][:1]
        if "truth" in names and len({" ".join(text.split()) for text in found}) > 1:
            self.notes.append(f"{section}: the two files word the target otherwise; that of {found[0][:40]!r} is read")
        return found[0] if found else ""

    def _note_the_unknown(self) -> None:
        for item in self.items:
            where = f"{item.section}, turn {item.turn}"
            if item.section not in SECTIONS:
                self.notes.append(f"{where}: a section that is not known; none of it is read")
                continue
            known = _INPUTS[item.section]
            unknown = {f"input.{name}": value for name, value in item.input.items() if name not in known}
            if item.section == DIAGNOSIS and not item.is_exam:
                unknown = {}  # may hold the patient note, which says itself when it is not found
            for name, value in {**unknown, **item.other}.items():
                self.notes.append(f"{where}: {name:.60} ({len(as_text(value)):,} characters) has no place in a case")

    def _opening(self) -> Opening | None:
        text = next(filter(None, (self._text(section, "opening") for section in SECTIONS)), "")
        if not text:
            self.notes.append("opening: not in the files")
        return read_opening(text) if text else None

    def _dialogue(self) -> list[dict[str, str | None]]:
        """The rounds from what the history grows by from turn to turn; the later sections tell the last of them."""
        questions, before = self._questions(), self._histories()
        last = max(before, default=0)
        whole = max((self._text(section, *_HISTORIES) for section in (PHYSICAL_EXAM, CLOSURE, DIAGNOSIS)), key=len)
        bank = read_bank(self._text(QA, "ground_truth"))
        rounds: list[dict[str, str | None]] = []
        for turn in range(1, last + 1):
            asked = [questions[turn]] if turn in questions else bank
            after = before.get(turn + 1) or (whole if turn == last else "")
            piece = _grown(before[turn], after, asked) if turn in before else ""
            said = read_round(piece, asked)
            if said and said.question and said.answer:
                rounds.append({"question": said.question, "answer": said.answer, "topic": said.topic})
                continue
            if turn not in questions and not (said and said.question):
                self.notes.append(f"qa, turn {turn}: neither question nor answer can be found; no round from here on")
                break
            self.notes.append(f"qa, turn {turn}: the answer cannot be found in the dialogue")
            question = questions.get(turn) or (said.question if said else "")
            rounds.append({"question": question, "answer": NO_ANSWER, "topic": said.topic if said else None})
        if last == 0:
            self.notes.append("qa: not in the files")
        return rounds

    def _questions(self) -> dict[int, str]:
        """By turn, what should have been asked."""
        found = {item.turn: bare_question(as_text(item.truth)) for item in self._of(QA) if not item.is_exam}
        return {turn: question for turn, question in found.items() if question}

    def _histories(self) -> dict[int, str]:
        """By turn, the dialogue before it."""
        found: dict[int, str] = {}
        for item in self._of(QA):
            text = next(filter(None, (as_text(item.input.get(name)) for name in _HISTORIES)), "")
            found[item.turn] = found.get(item.turn) or ("" if says_nothing(text) else text)
        return found

    def _targets(self) -> list[dict[str, object]]:
        rows = read_targets(self._text(PHYSICAL_EXAM, "truth", "target"))
        return [{"component": component, "maneuvers": maneuvers} for component, maneuvers in rows]

    def _closure(self) -> dict[str, object]:
        closure, question, answer = read_closure(self._text(CLOSURE, "truth", "sample_closure_and_answer"))
        closure = closure or self._text(CLOSURE, "sample_closure")
        answer = answer or self._text(CLOSURE, "sample_answer")
        question = self._text(CLOSURE, "challenge_question").strip('"“” \n') or question
        for name, part in (("closure", closure), ("challenging question", question), ("answer to it", answer)):
            if self._of(CLOSURE) and not part:
                self.notes.append(f"closure: the {name} cannot be told from the rest")
        return {
            "closure": closure or None,
            "challenge": {"question": question, "answer": answer} if question and answer else None,
        }

    def _note(self) -> dict[str, str] | None:
        inputs = [item.input for item in self._of(DIAGNOSIS) if not item.is_exam]
        texts = [
            as_text(value) if name == "opening" else f"{name.replace('_', ' ')}:\n{as_text(value)}"
            for given in inputs
            for name, value in given.items()
        ]
        history, examination = read_note("\n\n".join(texts))
        examination = self._text(CLOSURE, "pre_closure") or examination
        if history and examination:
            return {"history": history, "examination": examination}
        lacking = "history" if not history else "examination"
        self.notes.append(f"patient note: its {lacking} cannot be found in the inputs of closure and diagnosis")
        return None

    def _differential(self) -> list[dict[str, object]]:
        text = self._text(DIAGNOSIS, "truth", "target")
        noted, loose = read_differential(text)
        self.notes += [f"differential: {line!r:.100} stands under no diagnosis" for line in loose]
        rows: list[dict[str, object]] = [
            {"diagnosis": one.diagnosis, "historical": one.findings["historical"], "physical": one.findings["physical"]}
            for one in noted
            if one.diagnosis
        ]
        if not rows:
            came = f"found {text[:60]!r}" if text else "found none"
            problem = f"case {self.number}: expected target diagnoses (`Diagnosis #1: ...`) in the section diagnosis"
            raise CaseFileError(self.items[0].place, None, f"{problem}, {came}; give both files whole")
        return rows

    def _additional(self) -> list[dict[str, str]]:
        found, loose = read_additional(self._text(DIAGNOSIS, "additional_diagnosis"))
        self.notes += [f"additional diagnoses: {line!r:.100} is not `name: why`" for line in loose]
        return [{"diagnosis": name, "why": why} for name, why in found]


def _doorway(opening: Opening) -> dict[str, object]:
    return {
        "name": opening.name,
        "setting": opening.setting,
        "vital_signs": opening.vital_signs,
        "tasks": opening.tasks,
    }


def _grown(before: str, after: str, asked: Sequence[str]) -> str:
    """What a dialogue has grown by; where it was worded anew, all from the question on."""
    if after.startswith(before):
        return after[len(before) :]
    place = after.rfind(asked[0]) if len(asked) == 1 else -1
    return after[place:] if place >= 0 else ""
