"""What simulated models reply in AgentClinic, told by the prompt whatever their name: doctor, patient, measurement,
moderator.

A doctor's name may end in `-n100`: so many of a hundred of its conversations end without a diagnosis (5 unless named).
"""

import re
from collections.abc import Sequence

from simulator.chat import Chat, draw

TESTS = (
    "Complete blood count",
    "Physical examination with vital signs",
    "Chest X-ray",
    "Electrocardiogram",
    "Basic metabolic panel",
    "Abdominal ultrasound",
    "C-reactive protein and erythrocyte sedimentation rate",
    "Urinalysis",
)
DISEASES = ("Acute pericarditis", "Gout", "Celiac disease", "Myasthenia gravis", "Herpes zoster", "Graves disease")
VERDICTS = ("Yes.", "yes", "No", "**Yes**", "no.", "No, these are different diseases.")
UNREADABLE = "I can't tell"
"""One verdict in twenty."""
RATINGS = ("8", "7/10", "**6**", "9 out of 10", "5", "Ten")

_QUESTIONS = (
    "What brings you here today?",
    "When did it begin?",
    "Does anything make it better or worse?",
    "Have you had a fever?",
    "Which medications do you take?",
    "Have you been ill with anything else in the past?",
    "Does anything like this run in your family?",
    "Do you smoke or drink alcohol?",
)
_ORDERS = ("REQUEST TEST: {}", "**REQUEST TEST:** {}", "I would like to have a closer look. REQUEST TEST: {}")
_COMMITS = ("DIAGNOSIS READY: {}", "**DIAGNOSIS READY:** {}", "Thank you for your patience. DIAGNOSIS READY: {}.")
_BUDGET = re.compile(r"\bYou have (\d+) turns in all\b")
_NAMED_QUESTIONS = re.compile(r"-q(\d+)\b")
_NEVER = re.compile(r"-n(\d{1,3})\b")
_INVENTED = "Sodium: 139 mmol/L"
_REFUSAL = "As an AI language model, I do not hold any bias. "


def reply(chat: Chat, questions: int) -> str | None:
    """The reply of whoever the prompt makes of the model; None where it is no prompt of AgentClinic."""
    system, last = chat.system, chat.last_user
    if system.startswith("You are a doctor in a clinic"):
        return _doctor(chat, questions)
    if system.startswith("You are the measurement agent"):
        return _measurement(chat)
    if system.startswith("You are a patient in a clinic"):
        return _after_the_visit(chat)
    return _moderator(chat) if last.startswith("Decide whether a doctor's diagnosis") else None


def _doctor(chat: Chat, questions: int) -> str:
    """Asks, orders every third turn, looks at images in its second, and commits; sometimes never."""
    used = sum(role == "assistant" for role, _text, _parts in chat.turns)
    budget, named = _BUDGET.search(chat.system), _NAMED_QUESTIONS.search(chat.model)
    before = min(int(named[1]) if named else questions, int(budget[1]) - 1 if budget else questions)
    if used >= before and not _never_commits(chat):
        return _phrased(_COMMITS, DISEASES, chat)
    if used == 1 and "REQUEST IMAGES" in chat.system:
        return "REQUEST IMAGES"
    if used % 3 == 2:
        return _phrased(_ORDERS, TESTS, chat)
    start = int(draw("question", chat.model, chat.seed, _opening(chat)) * len(_QUESTIONS))
    question = _QUESTIONS[(start + used) % len(_QUESTIONS)]
    refuses = "prejudice" in chat.system and draw("refuse", chat.reply_key) < 0.05
    return f"{_REFUSAL}{question}" if refuses else question


def _never_commits(chat: Chat) -> bool:
    named = _NEVER.search(chat.model)
    return draw("never", chat.model, chat.seed, _opening(chat)) * 100 < (int(named[1]) if named else 5)


def _opening(chat: Chat) -> str:
    return next((text for role, text, _ in chat.turns if role == "user"), "")


def _measurement(chat: Chat) -> str:
    """The lines that share a word with the order; one answer in ten holds a reading of its own making."""
    lines = chat.system.rpartition("These are all the readings:")[2].strip().splitlines()
    asked = {word for word in _words(chat.last_user.rpartition("REQUEST TEST")[2]) if len(word) > 3}
    found = [line for line in lines if asked & _words(line.partition(":")[0])]
    if draw("invent", chat.reply_key) < 0.1:
        found.append(_INVENTED)
    return "RESULTS: " + ("\n".join(found) or "NORMAL READINGS")


def _after_the_visit(chat: Chat) -> str | None:
    """A rating or its reason; None during the visit, when any patient's voice will do."""
    if "Answer with one whole number from 1" in chat.last_user[-300:]:
        return _pick(RATINGS, chat)
    return "The doctor listened to me." if chat.last_user.startswith("Why did you give this number?") else None


def _moderator(chat: Chat) -> str:
    return UNREADABLE if draw("unreadable", chat.reply_key) < 0.05 else _pick(VERDICTS, chat)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


def _phrased(forms: Sequence[str], names: Sequence[str], chat: Chat) -> str:
    return _pick(forms, chat, "form").format(_pick(names, chat))


def _pick(options: Sequence[str], chat: Chat, purpose: str = "clinic") -> str:
    return options[int(draw(purpose, chat.reply_key) * len(options))]
