"""What the simulated models say: a function of the request alone, never of order or time."""

import re
from collections.abc import Callable, Sequence

from simulator import clinic, station
from simulator.chat import Chat, draw

QUESTIONS = (
    "How old are you, and were you assigned female or male at birth?",
    "When did you first notice it?",
    "Has it become better or worse since it began?",
    "Does anything make it better?",
    "Does anything make it worse?",
    "Have you had a fever or chills?",
    "Have you lost weight without trying?",
    "Which medications do you take?",
    "Have you been ill with anything else in the past?",
    "Has anyone in your family had something similar?",
    "Do you smoke or drink alcohol?",
    "Have you travelled lately?",
    "Have you noticed any change in your skin?",
    "Do you have any pain, and where?",
    "How have you been sleeping?",
    "Have you been near anyone who was ill?",
)
DISEASES = (
    "Psoriasis",
    "Gout",
    "Tinea pedis",
    "Herpes zoster",
    "Iron deficiency anemia",
    "Acute appendicitis",
    "Graves disease",
    "Community-acquired pneumonia",
)
SENTENCES = (
    "Yes, about the {word} I can say that it began some {count} days ago.",
    "No, I have not noticed any {word} in the last {count} weeks.",
    "I think the {word} has been there on and off for {count} days now.",
    "When you say {word}, it happens about {count} times a day.",
    "The {word} is what worries me the most, it kept me awake for {count} nights.",
    "I would not know about any {word}, but I have felt tired for {count} weeks.",
)

_NAMED_QUESTIONS = re.compile(r"-q(\d+)\b")
_ASKS_FOR_DIAGNOSIS = re.compile(r"\b(?:give|reply with|state|name)\b[^.?!\n]*\bdiagnosis\b", re.IGNORECASE)
_FINAL_DIAGNOSIS = re.compile(r"\bfinal diagnosis\b\s*:?", re.IGNORECASE)
_EXTRACTS = "which diagnosis the answer gives"
"""Words of the grader's extraction prompts."""
_LONGEST_NAME = 200


def say(chat: Chat, questions: int) -> str:
    """What the model asked for replies; a doctor asks so many questions before its diagnosis."""
    in_clinic = clinic.reply(chat, questions)
    return in_clinic if in_clinic is not None else _VOICES[role_of(chat)](chat, questions)


def role_of(chat: Chat) -> str:
    """The role is in the model's name, or else in the prompt."""
    for role in _VOICES:
        if chat.model.startswith(role):
            return role
    return _role_by_prompt(chat)


def _role_by_prompt(chat: Chat) -> str:
    last = chat.last_user
    if _EXTRACTS in last or ("\nDiagnosis 1:" in last and "\nDiagnosis 2:" in last):
        return "grader"
    if "\nAnswers:" in last and "paragraph" in last:
        return "summarizer"
    return "patient" if "you are a patient" in chat.system[:500].lower() else "doctor"


def _doctor(chat: Chat, questions: int) -> str:
    """Asks, then diagnoses; answers a written question at once."""
    last = chat.last_user
    if options := _options(last):
        return _pick(options, chat)
    if _asks_for_diagnosis(last):
        return _pick(DISEASES, chat)
    # A greeting before the patient's first words is the station's, not a question of this doctor's.
    roles = [role for role, _text, _parts in chat.turns]
    first = roles.index("user") if "user" in roles else len(roles) - 1
    asked = roles[first:].count("assistant")
    named = _NAMED_QUESTIONS.search(chat.model)
    if asked < (int(named[1]) if named else questions):
        return _question(chat, asked, opening=chat.turns[first][1])
    return f"**Final Diagnosis:** {_pick(DISEASES, chat)}"


def _asks_for_diagnosis(text: str) -> bool:
    """Whether it is an instruction to diagnose. It stands at one of the ends; a vignette between them may be long."""
    ends = text if len(text) < 2000 else f"{text[:1000]}\n{text[-1000:]}"
    return "iagnosis" in ends and _ASKS_FOR_DIAGNOSIS.search(ends) is not None


def _options(text: str) -> list[str]:
    """The lines below the last line `Choices:`, up to the first empty one."""
    if "Choices:" not in text:
        return []
    _, marker, below = f"\n{text}".rpartition("\nChoices:")
    return below.strip().split("\n\n")[0].splitlines() if marker else []


def _question(chat: Chat, number: int, opening: str) -> str:
    """The next question. Where in the list a conversation begins hangs on its opening, so none is asked twice."""
    start = int(draw("question", chat.model, chat.seed, opening) * len(QUESTIONS))
    question = QUESTIONS[(start + number) % len(QUESTIONS)]
    return question if number < len(QUESTIONS) else f"{question[:-1]}, to ask once more as question {number + 1}?"


def _patient(chat: Chat, _: int) -> str:
    """One sentence that takes up a word of the question."""
    words = re.findall(r"[A-Za-z]{4,}", chat.last_user[:1000]) or ["that"]
    count = 2 + int(draw("count", chat.reply_key) * 12)
    return _pick(SENTENCES, chat).format(word=_pick(words, chat, "word").lower(), count=count)


def _summarizer(chat: Chat, _: int) -> str:
    """The answers as one paragraph."""
    statements = chat.last_user.rpartition("Answers:")[2]
    return "The patient reports the following. " + " ".join(statements.split())


def _grader(chat: Chat, _: int) -> str:
    """Extracts a diagnosis, or compares two."""
    prompt = chat.last_user
    if _EXTRACTS not in prompt and "\nDiagnosis 2:" in prompt:
        before, _sep, second = prompt.rpartition("\nDiagnosis 2:")
        first = before.rpartition("Diagnosis 1:")[2]
        return "yes" if _plain(first).casefold() == _plain(second).casefold() else "no"
    instructions, _sep, answer = prompt.rpartition("Answer:")
    return _extracted(_plain(answer), several_allowed="semicolons" in instructions)


def _plain(name: str) -> str:
    return _FINAL_DIAGNOSIS.sub("", name.replace("*", "")).strip(" \n.")


def _extracted(name: str, several_allowed: bool) -> str:
    """The diagnosis in a cleaned answer; a question or an essay gives none."""
    if not name or "?" in name or len(name) > _LONGEST_NAME:
        return "None"
    alternatives = " or " in name or "\n" in name or (";" in name and not several_allowed)
    return "Multiple" if alternatives else name


def _pick(options: Sequence[str], chat: Chat, purpose: str = "reply") -> str:
    return options[int(draw(purpose, chat.reply_key) * len(options))]


_VOICES: dict[str, Callable[[Chat, int], str]] = {
    "doctor": _doctor,
    "patient": _patient,
    "summarizer": _summarizer,
    "grader": _grader,
    "student": station.student,
    "examiner": station.examiner,
}
MODELS = (*_VOICES, "any-model", "needs-key")
"""Names begin with one of these; what follows is free (`doctor-q3` asks three questions)."""
