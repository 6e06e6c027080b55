"""CRAFT-MD's raw results: a folder a model, `case_*.json` a case, and in each up to five trials.

Source: the files that the authors of CRAFT-MD 2025 released; the folder's name is the model's.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openosce.benchmarks.craft_md.station import CraftMDStation
from openosce.benchmarks.craft_md.trial import kept_summary
from openosce.cases import Case, GraderPart, grader_part
from openosce.encounters import DOCTOR, PATIENT, Encounter, EndReason, Message, Transcript
from openosce.errors import ResultsFileError
from openosce.grading import Answer, Missing, Trial, TrialKey
from openosce.runs.imports.craft_md_scores import (
    CONDITION,
    EXPERIMENTS,
    TRIALS,
    choice,
    free_response,
    missing_trial,
)
from openosce.runs.imports.irregular import Irregular, Reply, Tally, read_reply, read_verdict, whole_text

FILES = "case_[0-9]*.json"

# The authors stopped at 30 messages, the doctor's prompt included, which is no message here. Only open models were
# stopped, but no conversation of another could end with a question otherwise.
_AUTHORS = CraftMDStation(cap=29, any_case=False)
_ANY_SPELLING = CraftMDStation(cap=29, any_case=True)
_TRIAL_KEYS = tuple(f"trial_{n}" for n in range(TRIALS))
_OF_CASE = ("case_id", "case_vignette", "question", "correct_ans", *_TRIAL_KEYS)
_CONVERSATION, _SUMMARY = "multiturn_conversation", "summarized_conversation"
_OF_TRIAL = {
    *(_CONVERSATION, _SUMMARY, *EXPERIMENTS),
    *(f"{kind}_{name}" for name in EXPERIMENTS if name.endswith("_frq") for kind in ("extracted_ans", "evaluation")),
}


@dataclass(frozen=True)
class RawResults:
    """One model's folder, read through once: what it holds is known, and no file of it is unusable."""

    doctor: str
    files: Mapping[str, Path]
    """By case."""
    content_hash: str
    tally: Tally
    released_as: str = "raw results"

    @property
    def case_ids(self) -> frozenset[str]:
        """The cases that there are results of."""
        return frozenset(self.files)

    def trials(self, case: Case) -> Iterator[Trial]:
        """The five trials of a case, scored; missing ones as such."""
        uncounted = Tally()  # what is irregular has been counted at the first reading
        part = grader_part(case)
        path = self.files.get(case.id)
        results = _parse(_content(path), path) if path else {}
        for n, key in enumerate(_TRIAL_KEYS):
            place = TrialKey(self.doctor, CONDITION, case.id, n)
            record = results.get(key)
            if isinstance(record, dict):
                yield _read_trial(place, record, uncounted, key).scored(part)
            else:
                what = f"trial {n}" if results else "this case"
                yield missing_trial(place, Missing.NOT_RELEASED.because(f"the results do not hold {what}"))


def survey(folder: Path, doctor: str, cases: Mapping[str, Case], on_file: Callable[[], None]) -> RawResults:
    """Read a folder through: check every file, count what is irregular, and keep nothing but where each case is.

    Raises:
        ResultsFileError: A file cannot be read, or is about an unknown case.
    """
    tally = Tally()
    files: dict[str, Path] = {}
    hashes: dict[str, str] = {}
    for path in results_files(folder):
        content = _content(path)
        results, hashed = _parse(content, path), hashlib.sha256(content).hexdigest()
        case = _case_of(results, cases, path)
        if case.id not in files:
            files[case.id], hashes[case.id] = path, hashed
            _survey_file(results, case, doctor, tally, path)
        elif hashes[case.id] == hashed:
            tally.note(Irregular.COPY, path.name)
        else:
            problem = f"holds {case.id!r} again, with other results than {files[case.id].name}; leave one out"
            raise ResultsFileError(path, None, problem)
        on_file()
    for other in sorted(folder.iterdir()):
        if not other.match(FILES) and not other.name.startswith("."):
            tally.note(Irregular.OTHER_FILE, repr(other.name))
    content_hash = hashlib.sha256(json.dumps(sorted(hashes.items())).encode()).hexdigest()[:16]
    return RawResults(doctor, files, content_hash, tally)


def results_files(folder: Path) -> Sequence[Path]:
    """The results files of a folder, case_2 before case_10."""

    def natural(path: Path) -> tuple[list[int], str]:
        return [int(number) for number in re.findall(r"\d{1,18}", path.name)], path.name

    return sorted((path for path in folder.glob(FILES) if path.is_file()), key=natural)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as failure:
        raise ResultsFileError(path, None, f"cannot be read: {failure.strerror}") from None


def _parse(content: bytes, path: Path) -> dict[str, Any]:
    try:
        results = json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as failure:
        line = content[: failure.start].count(b"\n") + 1
        raise ResultsFileError(path, line, f"expected UTF-8 text, found byte {failure.start} that is none") from None
    except json.JSONDecodeError as failure:
        problem = f"expected JSON: {failure.msg} (column {failure.colno}); is the file cut off?"
        raise ResultsFileError(path, failure.lineno, problem) from None
    except (ValueError, RecursionError) as failure:
        raise ResultsFileError(path, None, f"expected JSON: {failure}") from None
    if not isinstance(results, dict):
        kind = type(results).__name__
        raise ResultsFileError(path, None, f"expected one JSON object with case_id, trial_0, ..., found a {kind}")
    return results


def _case_of(results: Mapping[str, Any], cases: Mapping[str, Case], path: Path) -> Case:
    """The case a file is about; without a word of it, the file's name tells."""
    case_id = results.get("case_id", path.stem)
    if not isinstance(case_id, str) or case_id not in cases:
        problem = f"case_id {case_id!r:.60} is not in the cases file; give the one that these results belong to"
        raise ResultsFileError(path, None, problem)
    return cases[case_id]


def _survey_file(results: Mapping[str, Any], case: Case, doctor: str, tally: Tally, path: Path) -> None:
    """Count what is irregular in a file."""
    _compare(results, case, tally, path)
    for key in sorted(results.keys() - set(_OF_CASE)):
        tally.note(Irregular.OTHER_KEY, f"{path.name}: {key!r:.60}")
    for n, key in enumerate(_TRIAL_KEYS):
        record, place = results.get(key), f"{path.name}: {key}"
        if not isinstance(record, dict):
            tally.note(Irregular.NO_TRIAL, place)
            continue
        for unknown in sorted(record.keys() - _OF_TRIAL):
            tally.note(Irregular.OTHER_KEY, f"{place}.{unknown!r:.60}")
        _read_trial(TrialKey(doctor, CONDITION, case.id, n), record, tally, place)


def _compare(results: Mapping[str, Any], case: Case, tally: Tally, path: Path) -> None:
    """Count what a file says otherwise than the cases file; letters' case and blanks do not matter."""
    for key in ("case_id", "case_vignette", "correct_ans"):
        if key not in results:
            tally.note(Irregular.NO_KEY, f"{path.name}: {key}")
    if path.stem != case.id:
        tally.note(Irregular.OTHER_NAME, path.name)
    answer = results.get("correct_ans", case.diagnosis.name)
    if _squeezed(answer) != _squeezed(case.diagnosis.name):
        tally.note(Irregular.OTHER_ANSWER, f"{path.name}: {answer!r:.60}")
    vignette = results.get("case_vignette", "")
    if _squeezed(vignette) not in _squeezed(f"{case.vignette or ''} {case.question or ''}"):
        tally.note(Irregular.OTHER_VIGNETTE, path.name)


def _squeezed(text: object) -> str:
    return " ".join(str(text).split()).casefold()


@dataclass(frozen=True)
class _Read:
    """A trial as released, not yet scored."""

    key: TrialKey
    encounter: Encounter
    summary: Reply
    choices: Mapping[str, Reply]
    free: Mapping[str, tuple[Reply, tuple[float | None, str | None], Reply]]
    """By arm: the reply, the stored verdict, the extracted diagnosis."""

    def scored(self, part: GraderPart) -> Trial:
        """The trial with its scores."""
        text = self.summary.answer
        answers = [Answer("summary", None, self.summary.missing_reason) if text is None else kept_summary(text)]
        for arm in EXPERIMENTS.values():
            if arm in self.choices:
                answers.append(choice(arm, self.choices[arm], part))
            else:
                reply, verdict, extracted = self.free[arm]
                answers.append(free_response(arm, reply, verdict, extracted.answer))
        return Trial(self.key, self.encounter, tuple(answers))


def _read_trial(key: TrialKey, record: Mapping[str, Any], tally: Tally, place: str) -> _Read:
    choices: dict[str, Reply] = {}
    free: dict[str, tuple[Reply, tuple[float | None, str | None], Reply]] = {}
    for name, arm in EXPERIMENTS.items():
        reply = read_reply(record, name, tally, place)
        if arm.endswith("_mcq"):
            choices[arm] = reply
            continue
        verdict = read_verdict(record, f"evaluation_{name}", tally, place)
        free[arm] = reply, verdict, read_reply(record, f"extracted_ans_{name}", tally, place)
    summary = read_reply(record, _SUMMARY, tally, place)
    return _Read(key, _encounter(record, tally, f"{place}.{_CONVERSATION}"), summary, choices, free)


def _encounter(record: Mapping[str, Any], tally: Tally, place: str) -> Encounter:
    """The conversation, and which of the authors' rules ended it."""
    messages = record.get(_CONVERSATION)
    transcript = _transcript(messages, tally, place) if isinstance(messages, list) else ()
    if not transcript:
        tally.note(Irregular.NO_CONVERSATION, place)
        return Encounter((), EndReason.NOT_RELEASED)
    ended = _AUTHORS.ending(transcript)
    if _ANY_SPELLING.ending(transcript) != ended:
        tally.note(Irregular.OTHER_SPELLING, place)
    if ended is EndReason.DIAGNOSED_WITH_QUESTION:
        tally.note(Irregular.TWO_FACED, place)
    if ended is None:
        tally.note(Irregular.CUT_OFF, place)
        said = f"the released conversation stops after {len(transcript)} messages, by none of the authors' rules"
        return Encounter(transcript, EndReason.ROLE_FAILED, said)
    return Encounter(transcript, ended)


_SPEAKERS = {"assistant": (DOCTOR, PATIENT), "user": (PATIENT, DOCTOR)}


def _transcript(messages: Sequence[Any], tally: Tally, place: str) -> Transcript:
    """What was said, without the doctor's prompt: all that stands before the doctor's first message."""
    roles = [message.get("role") if isinstance(message, dict) else None for message in messages]
    start = roles.index("assistant") if "assistant" in roles else len(roles)
    if start != 1:
        tally.note(Irregular.NO_PROMPT, place)
    found: list[Message] = []
    for n, message in enumerate(messages[start:], start):
        speakers = _SPEAKERS.get(str(roles[n]))
        text = _said(message, tally, f"{place}[{n}]") if speakers else None
        if speakers is None or text is None:
            tally.note(Irregular.NO_MESSAGE, f"{place}[{n}]")
            continue
        if found and found[-1].speaker == speakers[0]:
            tally.note(Irregular.NOT_IN_TURN, f"{place}[{n}]")
        found.append(Message(*speakers, text))
    return tuple(found)


def _said(message: Mapping[str, Any], tally: Tally, place: str) -> str | None:
    """A message's text; None where it is none."""
    text = message.get("content")
    if not isinstance(text, str):
        return None
    if not text.strip():
        tally.note(Irregular.BLANK_MESSAGE, place)
    return whole_text(text, tally, place)
