"""`builtin/interviewer` in AgentClinic: the rule-based baseline doctor, within a budget of turns and with tests."""

from openosce.encounters import DOCTOR, STATION, Message, Transcript, heard
from openosce.roles.clinic_tokens import DIAGNOSIS_READY, REQUEST_IMAGES, REQUEST_TEST
from openosce.roles.doctor import Question
from openosce.roles.interviewer import Interviewer
from openosce.roles.language import stems

GREETING = "Hello! What symptoms have brought you here today?"
EXAMINATION = "Physical examination with vital signs"
LABORATORY = "Complete blood count, metabolic panel, C-reactive protein and urinalysis"
BY_COMPLAINT = (
    ("chest breath breathing palpitations heart cough faint", "Electrocardiogram and chest X-ray"),
    ("belly stomach abdomen nausea vomiting bowel diarrhea jaundice", "Abdominal ultrasound"),
    ("weak weakness numb tingling", "Lumbar puncture and nerve conduction studies"),
    ("headache head seizure dizzy confused memory", "MRI of the brain"),
    ("eye vision blurred", "Slit-lamp examination and tonometry"),
    ("hear hearing ear", "Audiometry"),
    ("rash skin spots patch itch itching lesion", "Skin biopsy"),
    ("joint stiff stiffness knee shoulder hip back", "X-ray of the joint and erythrocyte sedimentation rate"),
    ("period pregnant vaginal pelvic bleeding", "Pregnancy test and pelvic ultrasound"),
)
"""Words of a complaint, and the tests that it suggests: general knowledge, from no case."""
OTHERWISE = "Chest X-ray"


class ClinicInterviewer:
    """Greets, asks its checklist, looks at the images, orders up to three tests, and diagnoses in its last turn."""

    def __init__(self, seed: str, turns: int, on_request: bool = False) -> None:
        """`seed` as for `Interviewer`; `turns` it may use; `on_request`: whether images are there to be asked for."""
        self._interviewer = Interviewer(seed)
        self._turns = turns
        self._on_request = on_request

    async def speak(self, transcript: Transcript) -> str:
        """Take the next turn; never fails."""
        talk = tuple(m for m in heard(transcript, DOCTOR) if m.speaker != STATION)
        used = sum(message.speaker == DOCTOR for message in talk)
        if used >= self._turns - 1:
            return self._diagnose(talk)
        if used == 0:
            return GREETING
        last = self._last_steps(talk)
        ahead = self._turns - 1 - used
        question = self._interviewer.next_question(talk) if ahead > len(last) else None
        if question is not None:
            return question
        return last[0] if last else self._diagnose(talk)

    async def answer(self, question: Question) -> str:
        """Answer a written question by its illness scripts; never fails."""
        return await self._interviewer.answer(question)

    def _diagnose(self, talk: Transcript) -> str:
        return f"{DIAGNOSIS_READY}: {self._interviewer.diagnosis(_questions_and_replies(talk))}"

    def _last_steps(self, talk: Transcript) -> list[str]:
        """What it does after its questions and has not done yet; fewer tests the smaller the budget."""
        complaint = next((message.text for message in talk if message.speaker != DOCTOR), "")
        fitting = (tests for words, tests in BY_COMPLAINT if stems(words) & stems(complaint))
        tests = [f"{REQUEST_TEST}: {test}" for test in (EXAMINATION, LABORATORY, next(fitting, OTHERWISE))]
        steps = [*([REQUEST_IMAGES] if self._on_request else []), *tests[: max(0, (self._turns - 2) // 2)]]
        said = {message.text for message in talk if message.speaker == DOCTOR}
        return [step for step in steps if step not in said]


def _questions_and_replies(talk: Transcript) -> Transcript:
    """The conversation with its orders left without words, so that an order for a test says nothing of the patient."""
    return tuple(
        Message(m.speaker, m.listener, "") if m.speaker == DOCTOR and REQUEST_TEST in m.text else m for m in talk
    )
