"""What simulated students and examiners of a clinical-skills station reply: JSON, or what a model makes of it.

A name that ends in `-f30` spoils three replies in ten: `student-f30`, `examiner-f100`.
"""

import json
import re
from collections.abc import Callable

from simulator.chat import Chat, draw

_RATE = re.compile(r"-f(\d{1,3})\b")
_EXAMS = (("Heart", "auscultation"), ("Pulmonary", "auscultation"), ("Abdomen", "palpation"), ("Neck", "palpation"))
_NAMES = ("Acute pericarditis", "Gout", "Psoriasis", "Celiac disease", "Acute appendicitis", "Graves disease")
_QUESTIONS = ("Do you have a fever?", "Do you smoke?", "What medicines do you take?", "When did the pain begin?")

FAULTS: dict[str, Callable[[str], str]] = {
    "fence": lambda text: f"```json\n{text}\n```",
    "prose": lambda text: f"Here is my answer:\n{text}\nI hope this helps.",
    "empty_object": lambda text: "{}",
    "missing_key": lambda text: json.dumps(dict(list(json.loads(text).items())[:-1])),
    "list_for_object": lambda text: json.dumps({key: [value] for key, value in json.loads(text).items()}),
    "list": lambda text: f"[{text}]",
    "trailing_comma": lambda text: text.removesuffix("}") + ",}",
    "single_quotes": lambda text: text.replace('"', "'"),
    "truncated": lambda text: text[: len(text) // 2],
    "not_a_number": lambda text: text.removesuffix("}") + ', "extra": NaN}',
    "twice": lambda text: text.removesuffix("}") + ", " + text.removeprefix("{"),
    "numbers_as_text": lambda text: re.sub(r": (-?\d+(?:\.\d+)?)\b", r': "\1"', text),
    "out_of_range": lambda text: re.sub(r": (-?\d+(?:\.\d+)?)\b", ": 1000", text),
    "prose_only": lambda text: "I would rather not answer in this format",
}
"""The ways in which a reply is spoilt; the first two can be mended."""


def student(chat: Chat, _: int) -> str:
    """Hands in what the prompt's format asks for."""
    asked = chat.last_user.rpartition("Reply with one JSON object")[2]
    reply: dict[str, object]
    if '"question"' in asked:
        question = _pick(_QUESTIONS, chat)
        reply = {"symptom": "this", "reason": "It may tell more.", "question": question}
    elif '"exams"' in asked:
        chosen = [exam for exam in _EXAMS if draw("exam", exam, chat.reply_key) < 0.7]
        reply = {"exams": [{"physical exam": c, "maneuver": m, "reason": "The complaint."} for c, m in chosen]}
    elif '"closure"' in asked:
        reply = {"closure": "You came with this complaint. It may have several causes, and I will order tests."}
    elif '"answer"' in asked:
        reply = {"answer": "I understand your worry. I do not know yet, and we will find out together."}
    else:
        reply = {f"diagnosis{n}": _diagnosis(_NAMES[(_first(chat) + n) % len(_NAMES)]) for n in (1, 2, 3)}
    return _spoilt(json.dumps(reply), chat)


def examiner(chat: Chat, _: int) -> str:
    """Marks by lot what the prompt's format asks for."""
    asked = chat.last_user.rpartition("Reply with one JSON object")[2]
    said = {f"explanation{n}": "So it is." for n in range(1, 6)}
    reply: dict[str, object]
    if '"repeated"' in asked:
        reply = {"reason": "It fits the bank.", "score": int(draw("score", chat.reply_key) < 0.6), "repeated": False}
    elif '"score5"' in asked:
        reply = {"score1": 15, "score2": 20, "score3": 25, "score4": 8, "score5": 9, **said}
    elif '"score3"' in asked:
        reply = {"score1": 36, "score2": 40, "score3": 0, **said}
    else:
        reply = {"order": 0, "quality score": 3, "reason": "Some of it fits."}
        for n in (1, 2, 3):
            reply |= {f"diagnosis {n} name": 0, f"diagnosis {n} target": "none"}
            reply |= {f"diagnosis {n} {kind} finding": 0 for kind in ("historical", "physical")}
    return _spoilt(json.dumps(reply), chat)


def _diagnosis(name: str) -> dict[str, object]:
    return {
        "diagnosis": name,
        "Historical Findings": ["what was told"],
        "Historical reasons": ["It fits."],
        "Physical exam data": "N/A",
        "Physical exam data reasons": "N/A",
    }


def _spoilt(text: str, chat: Chat) -> str:
    rate = _RATE.search(chat.model)
    if not rate or draw("spoil", chat.reply_key) * 100 >= int(rate[1]):
        return text
    return FAULTS[_pick(tuple(FAULTS), chat)](text)


def _first(chat: Chat) -> int:
    return int(draw("first", chat.reply_key) * len(_NAMES))


def _pick(options: tuple[str, ...], chat: Chat) -> str:
    return options[int(draw("station", chat.reply_key) * len(options))]
