"""Studies and their folders: what to run, running it, and the one database that holds all of it."""

from openosce.runs.expectation import ExpectedCalls, expected_calls
from openosce.runs.scheduler import PreparedStudy, planned, prepare, run_study, unfinished
from openosce.runs.study import Study, default_folder, read_study, to_study

__all__ = [
    "ExpectedCalls",
    "PreparedStudy",
    "Study",
    "default_folder",
    "expected_calls",
    "planned",
    "prepare",
    "read_study",
    "run_study",
    "to_study",
    "unfinished",
]
