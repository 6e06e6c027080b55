"""Conversations, answers and grades packed for the page: compressed JSON in base64, unpacked in the browser."""

import base64
import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from openosce.cases.record import StationPart
from openosce.grading.record import Answer, Score
from openosce.reports.plan import Plan
from openosce.reports.scores import Grading
from openosce.reports.station_sheet import handed_in, is_section, stations
from openosce.reports.text import one_line, shortened
from openosce.runs.folder import RunReader

MOST_CONVERSATIONS = 5_000
_MOST_BYTES = 24_000_000
"""Of all packs together, so that the page stays below 30 MB."""
_IN_A_PACK = 50
_LONGEST_TEXT = 100_000
"""Characters of one message or answer; `osce show` has the rest."""
_LONGEST_CONVERSATION = 1_000_000
_LONGEST_REMARK = 2_000


@dataclass(frozen=True)
class Packed:
    """The conversations of a page: a pack with the list of them, and packs of fifty with their texts."""

    n_all: int
    """Conversations of the run."""
    n_packed: int
    index: str = ""
    packs: tuple[str, ...] = ()

    @property
    def is_sample(self) -> bool:
        """Whether some were left out."""
        return self.n_packed < self.n_all


@dataclass(frozen=True)
class _Entry:
    """One conversation of the list."""

    id: int
    doctor: str
    condition: str
    case_id: str
    trial: int
    ended: str
    error: str | None
    specialty: str | None
    diagnosis: str | None


def pack_conversations(
    reader: RunReader, plan: Plan, headline: Grading, most: int = MOST_CONVERSATIONS, most_bytes: int = _MOST_BYTES
) -> Packed:
    """Pack the conversations of a run, or a random sample where there are too many; the same run, the same sample.

    Args:
        reader: The run.
        plan: Its arms are those whose verdicts the list shows.
        headline: The grading that decides those verdicts.
        most: Conversations to pack at most.
        most_bytes: Characters of all packs together; the sample shrinks until they fit.
    """
    entries = _entries(reader)
    order = np.random.default_rng(_seed(reader)).permutation(len(entries)).tolist()
    n = min(most, len(entries))
    while n > 0:
        sample = [entries[place] for place in sorted(order[:n])]
        packed = _pack(reader, plan, headline, sample, len(entries))
        size = len(packed.index) + sum(map(len, packed.packs))
        if size <= most_bytes:
            return packed
        n = min(n - 1, int(0.95 * n * most_bytes / size))
    return Packed(len(entries), 0)


def _seed(reader: RunReader) -> int:
    study = json.dumps(reader.manifest["study"], sort_keys=True)
    return int.from_bytes(hashlib.sha256(study.encode()).digest()[:8])


def _entries(reader: RunReader) -> list[_Entry]:
    sql = """SELECT e.id, doctor, condition, case_id, trial, ended, error, specialty,
                    CASE WHEN json_valid(record) THEN json_extract(record, '$.diagnosis.name') END
             FROM encounters e LEFT JOIN cases c ON c.id = e.case_id
             ORDER BY doctor, c.rowid, case_id, trial, condition"""
    return [_Entry(*row) for row in reader.rows(sql)]


def _pack(reader: RunReader, plan: Plan, headline: Grading, sample: Sequence[_Entry], n_all: int) -> Packed:
    rows, packs = [], []
    names = _Names()
    for start in range(0, len(sample), _IN_A_PACK):
        entries = sample[start : start + _IN_A_PACK]
        wanted = stations(reader, (entry.case_id for entry in entries)) if any(map(is_section, plan.arms)) else {}
        texts = []
        for entry, messages, answers in _read(reader, entries):
            rows.append(_row(entry, _verdicts(answers, entry.condition, plan, headline), names))
            texts.append(_texts(entry, messages, answers, wanted.get(entry.case_id)))
        packs.append(_squeeze(texts))
    arms = [one_line(arm) for arm in plan.arms]
    judged = {"policy": one_line(headline.policy), "graders": [one_line(name) for name in sorted(headline.graders)]}
    index = {"arms": arms, **judged, **names.lists, "rows": rows, "pack": _IN_A_PACK}
    index["is_share"] = plan.headline.is_share
    return Packed(n_all, len(sample), _squeeze(index), tuple(packs))


class _Names:
    """Numbers for names that come again and again; the page has each but once."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, int]] = {
            key: {} for key in ("doctors", "conditions", "specialties", "endings")
        }

    def number(self, key: str, name: str) -> int:
        known = self._numbers[key]
        return known.setdefault(one_line(name), len(known))

    @property
    def lists(self) -> dict[str, list[str]]:
        return {key: list(known) for key, known in self._numbers.items()}


_Answers = dict[str, tuple[str | None, str | None, list[tuple[Any, ...]]]]
"""By arm: the text, why it is missing, and the scores as metric, value, policy, grader, evidence, missing reason."""


def _read(reader: RunReader, entries: Sequence[_Entry]) -> Iterator[tuple[_Entry, list[tuple[Any, ...]], _Answers]]:
    """The entries with their messages (speaker, listener, text) and answers."""
    ids = [entry.id for entry in entries]
    marks = ", ".join("?" * len(ids))
    messages: dict[int, list[tuple[Any, ...]]] = {number: [] for number in ids}
    sql = f"SELECT encounter_id, speaker, listener, text FROM messages WHERE encounter_id IN ({marks}) ORDER BY 1, n"
    for encounter_id, *message in reader.rows(sql, tuple(ids)):
        messages[encounter_id].append(tuple(message))
    answers: dict[int, _Answers] = {number: {} for number in ids}
    sql = f"""SELECT encounter_id, arm, text, a.missing_reason,
                     metric, value, policy, grader, evidence, s.missing_reason
              FROM answers a LEFT JOIN scores s ON s.answer_id = a.id
              WHERE encounter_id IN ({marks}) ORDER BY a.id, s.rowid"""
    for encounter_id, arm, text, reason, *score in reader.rows(sql, tuple(ids)):
        _, _, scores = answers[encounter_id].setdefault(arm, (text, reason, []))
        if score[0] is not None:
            scores.append(tuple(score))
    for entry in entries:
        yield entry, messages[entry.id], answers[entry.id]


def _verdicts(answers: _Answers, condition: str, plan: Plan, headline: Grading) -> list[float | None]:
    """The score in every column of the plan under the headline, None where there is none."""
    found: list[float | None] = []
    for column in plan.columns:
        given = answers if column.condition == condition else {}
        _, _, scores = given.get(column.arm, (None, None, []))
        values = [
            value
            for metric, value, policy, grader, *_ in scores
            if metric == plan.headline.name and policy == headline.policy and grader in headline.graders
            if isinstance(value, int | float) and np.isfinite(value)
        ]
        found.append(round(sum(values) / len(values), 3) if values else None)
    return found


def _row(entry: _Entry, verdicts: list[float | None], names: _Names) -> list[Any]:
    """Doctor, condition, specialty and ending by number; then case, trial and verdicts."""
    return [
        names.number("doctors", entry.doctor),
        names.number("conditions", entry.condition),
        names.number("specialties", entry.specialty or "none"),
        names.number("endings", entry.ended),
        one_line(entry.case_id),
        entry.trial,
        verdicts,
    ]


def _texts(
    entry: _Entry, messages: list[tuple[Any, ...]], answers: _Answers, station: StationPart | None
) -> dict[str, Any]:
    """What is read of one conversation."""
    room = _Room()
    said = [[_name(speaker), _name(listener or ""), room.take(text)] for speaker, listener, text in messages]
    given = [
        [
            _name(arm),
            text and room.take(_readable(arm, text, scores, station)),
            _remark(reason),
            [_score(score) for score in scores],
        ]
        for arm, (text, reason, scores) in answers.items()
    ]
    diagnosis = _remark(entry.diagnosis)
    return {"diagnosis": diagnosis, "error": _remark(entry.error), "messages": said, "answers": given}


def _readable(arm: str, text: str, scores: list[tuple[Any, ...]], station: StationPart | None) -> str:
    """An answer's text; that of a station's section as an examiner's sheet."""
    if not is_section(arm):
        return text
    return handed_in(Answer(arm, str(text), None, tuple(Score(*score) for score in scores)), station)


class _Room:
    """What is left of the characters that one conversation may take."""

    def __init__(self) -> None:
        self._left = _LONGEST_CONVERSATION

    def take(self, text: object) -> str:
        whole = str(text)
        limit = min(_LONGEST_TEXT, self._left)
        self._left -= min(limit, len(whole))
        return shortened(whole, limit)


def _score(score: tuple[Any, ...]) -> list[Any]:
    metric, value, policy, grader, evidence, reason = score
    number = value if isinstance(value, int | float) and np.isfinite(value) else None
    return [_name(metric), number, _name(policy), _name(grader), _remark(evidence), _remark(reason)]


@lru_cache(maxsize=256)
def _name(text: str) -> str:
    return one_line(text)


def _remark(text: object) -> str | None:
    return None if text is None else shortened(str(text), _LONGEST_REMARK)


def _squeeze(record: object) -> str:
    raw = json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(raw.encode(), 6)).decode()
