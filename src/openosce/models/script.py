"""`builtin/script`: replies written beforehand, one for each step. For tests, examples and demonstrations."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

import yaml

from openosce.errors import RefusedError, StudyError
from openosce.models.model import Reply, Request


class Script:
    """Answers a step with the first entry whose pattern fits it; a reply depends on the request alone."""

    def __init__(self, replies: Mapping[str, str]) -> None:
        """`replies` maps steps, or patterns as `answer/*`, to replies."""
        self._replies = dict(replies)

    async def complete(self, request: Request) -> Reply:
        """Give the reply for this step."""
        for pattern, text in self._replies.items():
            if fnmatchcase(request.step, pattern):
                return Reply(text, finish_reason="stop", model_id="builtin/script")
        raise RefusedError(
            f"the script has no reply for the step {request.step!r}; it knows {', '.join(self._replies)}"
        )


def read_script(path: Path) -> Script:
    """Read a script: a YAML mapping of steps to replies.

    Raises:
        StudyError: The file cannot be read, or is no such mapping.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as failure:  # ValueError: no UTF-8, or a date that is none
        raise StudyError(f"{path}: cannot be read as a script: {failure}".replace("\n", " ")) from None
    if not isinstance(data, dict) or not all(isinstance(x, str) for pair in data.items() for x in pair):
        raise StudyError(f'{path}: expected a YAML mapping of steps to replies, as `talk/2: "Any fever?"`')
    return Script(data)
