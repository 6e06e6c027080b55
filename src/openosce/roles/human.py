"""A human in the chair: somebody at the terminal plays a role, told what a model in it would be told."""

import sys

from openosce.cases import tidy
from openosce.encounters import Message, Transcript, heard
from openosce.roles.doctor import LETTERS, Question


class Human:
    """Asks whoever sits at the terminal for the next words of a role.

    What is shown goes to standard error, so that standard output stays the command's own. The end of input is Ctrl-C:
    the run stops, and goes on from there later.
    """

    def __init__(self, role: str, briefing: str, title: str) -> None:
        """Sit down.

        Args:
            role: The role played.
            briefing: What a model in this role would be told beforehand.
            title: Of the encounter, for the head line.
        """
        self._role, self._briefing, self._title = role, briefing, title
        self._shown = -1

    async def speak(self, transcript: Transcript) -> str:
        """Show what was said since the last turn, and read one line."""
        known = heard(transcript, self._role)
        if self._shown < 0:
            _show(f"\n=== {self._title}: you are the {self._role} ===\n{self._briefing}\n")
            self._shown = 0
        for message in known[self._shown :]:
            if message.speaker != self._role:
                _show(_line(message))
        self._shown = len(known) + 1  # what is said now included
        return _read(self._role)

    async def answer(self, question: Question) -> str:
        """Show an arm's question, and read one line."""
        told = question.told if isinstance(question.told, str) else "\n".join(map(_line, question.told))
        choices = [f"{LETTERS[n]}. {tidy(choice)}" for n, choice in enumerate(question.choices)]
        asked = question.question or "What is the most likely diagnosis?"
        _show("\n".join([f"\n--- {self._title}, {question.arm} ---", told, asked, *choices]))
        return _read(self._role)


def _line(message: Message) -> str:
    images = "".join(f" [image: {path}]" for path in message.images)
    return f"{message.speaker}: {message.text}{images}"


def _show(text: str) -> None:
    # Control characters of a model's words could move the cursor, or worse.
    safe = "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)
    print(safe, file=sys.stderr, flush=True)


def _read(role: str) -> str:
    while True:
        print(f"{role}> ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            raise KeyboardInterrupt
        if line.strip():
            return line.strip()
