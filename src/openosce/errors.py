"""Every error of OpenOSCE, named after the boundary that was crossed.

OpenOSCEError
├── InputError           unusable input: the command ends with one line and exit code 2
│   ├── FileError            a file: says which file and line
│   │   ├── CaseFileError        ... of cases
│   │   └── ResultsFileError     ... of somebody else's released results
│   ├── StudyError           a study file, a flag, a name that nobody knows
│   ├── PromptError          a prompt template
│   └── RunFolderError       a run folder that is missing, foreign, damaged or in use
├── RunStopped           a limit was reached or no call can succeed: the run stops, and the same command goes on
└── EncounterError       something failed inside a trial: recorded there, never scored
    ├── ProviderError        a model's endpoint gave no reply, for now
    │   ├── BusyError            ... because it is overloaded or limits the rate
    │   ├── UnreadableReplyError ... that could be read as a chat completion
    │   ├── RefusedError         ... and never will to this request: a content filter, a bad request
    │   └── AccessError          ... and never will to anybody: a wrong key, an unknown model
    ├── RoleError            a role produced no usable turn
    └── GraderError          a grader's reply holds no readable verdict
"""

from pathlib import Path


class OpenOSCEError(Exception):
    """The root of the family."""


class InputError(OpenOSCEError):
    """Input that cannot be used; the message says what was expected, what came, and how to mend it."""


class FileError(InputError):
    """A file that cannot be read; the message starts with `file:line:`."""

    def __init__(self, path: Path | str, line: int | None, problem: str) -> None:
        place = f"{path}:{line}" if line else str(path)
        super().__init__(f"{place}: {problem}")


class CaseFileError(FileError):
    """A case file that cannot be read."""


class ResultsFileError(FileError):
    """A file of somebody else's released results that cannot be imported."""


class StudyError(InputError):
    """A study file, flag or name that cannot be used."""


class PromptError(InputError):
    """A prompt template that is missing, unknown or does not render."""


class RunFolderError(InputError):
    """A run folder that is missing, belongs to another study, is damaged or in use."""


class RunStopped(OpenOSCEError):
    """The run stops before its end; what is done is kept, and the same command goes on."""


class EncounterError(OpenOSCEError):
    """Something failed inside a trial. It is recorded as missing data with its reason."""


class ProviderError(EncounterError):
    """The model's endpoint gave no reply; asking again later may help."""

    failed_tries: tuple[str, ...] = ()
    """The errors of the tries before the last one."""


class BusyError(ProviderError):
    """The endpoint is overloaded or limits the rate (429, 503)."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        """`retry_after`: the seconds that the endpoint asks to wait, if it says."""
        super().__init__(message)
        self.retry_after = retry_after


class UnreadableReplyError(ProviderError):
    """The endpoint answered with something that is no chat completion (cut-off JSON, another shape)."""


class RefusedError(ProviderError):
    """The endpoint refused this request for good (a content filter); asking again does not help."""


class AccessError(ProviderError):
    """No call with this configuration can succeed (a wrong key, an unknown model)."""


class RoleError(EncounterError):
    """A role produced no usable turn (an empty reply, a script that ended)."""


class GraderError(EncounterError):
    """A grader's reply holds no readable verdict."""
