"""The run folder: `study.toml`, `manifest.json` and `run.db`, and everything that reads or writes that database.

The tables follow the path: cases, encounters, messages, answers, scores, ratings; and calls, the journal.
One process writes (a lock file keeps others out), in one thread, many rows to a commit; anybody may read.
"""

from openosce.runs.folder.files import half_written, write_whole
from openosce.runs.folder.reader import RunReader
from openosce.runs.folder.records import AddedScores, Call, CallSums, CaseRow, Column, Judge, ScoreRow, call_address
from openosce.runs.folder.schema import DATABASE, MANIFEST, REPORT, STUDY
from openosce.runs.folder.writer import RunWriter

__all__ = [
    "DATABASE",
    "MANIFEST",
    "REPORT",
    "STUDY",
    "AddedScores",
    "Call",
    "CallSums",
    "CaseRow",
    "Column",
    "Judge",
    "RunReader",
    "RunWriter",
    "ScoreRow",
    "call_address",
    "half_written",
    "write_whole",
]
