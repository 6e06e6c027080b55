"""The image reader hands images over and describes nothing; the doctor is sent them and keeps them."""

import asyncio
from importlib import resources

import pytest

from openosce.benchmarks.agentclinic.station import AgentClinicStation
from openosce.cases import Case, Diagnosis, Image, ImagePart, image_part
from openosce.encounters import DOCTOR, PATIENT, EndReason, Message, run_encounter
from openosce.models import Reply, load_prompts
from openosce.roles.clinic_doctor import ClinicDoctor
from openosce.roles.image_reader import IMAGES, RecordImageReader

PROMPTS = load_prompts([resources.files("openosce.benchmarks.agentclinic") / "prompts"])
CASE = Case(
    id="x",
    source="test",
    diagnosis=Diagnosis(name="Atrial flutter"),
    images=(Image(path="ecg.png", kind="ECG", caption="Lead II", shows="saw-tooth waves"),),
)
DATA = "data:image/png;base64,AAAA"


class Lines:
    """A model that says its lines and keeps what it was sent."""

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)
        self.requests = []

    async def complete(self, request):
        self.requests.append(request)
        return Reply(self._lines.pop(0))


class Patient:
    async def speak(self, transcript) -> str:
        return "My heart races."


def hold(mode: str, *lines: str, images: dict[str, str] | None = None):
    model = Lines(*lines)
    doctor = ClinicDoctor(model, PROMPTS, 5, mode, images={"ecg.png": DATA} if images is None else images)
    roles = {DOCTOR: doctor, PATIENT: Patient(), IMAGES: RecordImageReader(image_part(CASE))}
    encounter = asyncio.run(run_encounter(AgentClinicStation("Assess.", 5, mode, ("ecg.png",)), roles))
    return encounter, [[len(message.images) for message in request.messages] for request in model.requests], model


def test_the_reader_names_the_image_and_not_what_it_shows():
    text = asyncio.run(RecordImageReader(image_part(CASE)).speak(()))
    assert "Lead II" in text
    assert "saw-tooth" not in text
    assert "flutter" not in text


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (ImagePart(()), "no image"),
        (ImagePart((Image(path="a.png"), Image(path="b.png", kind="photo"))), "2 images: without a caption; photo"),
    ],
)
def test_the_reader_always_answers(part: ImagePart, words: str):
    assert words in asyncio.run(RecordImageReader(part).speak((Message(DOCTOR, IMAGES, "REQUEST IMAGES"),)))


def test_an_initial_image_is_in_the_first_request_and_in_every_later_one():
    encounter, images, model = hold("initial", "Since when?", "DIAGNOSIS READY: atrial flutter")
    assert encounter.ended is EndReason.DIAGNOSED
    assert images == [[0, 1], [0, 1, 0, 0]]
    assert model.requests[0].messages[1].images == (DATA,)
    assert "REQUEST IMAGES" not in model.requests[0].messages[0].content


def test_an_image_on_request_is_sent_from_then_on_and_never_before():
    encounter, images, model = hold(
        "on_request", "Since when?", "REQUEST IMAGES", "REQUEST IMAGES", "DIAGNOSIS READY: x"
    )
    assert encounter.ended is EndReason.DIAGNOSED
    assert [sum(request) for request in images] == [0, 0, 1, 1]
    assert model.requests[2].messages[-1].images == model.requests[3].messages[5].images == (DATA,)
    assert "REQUEST IMAGES" in model.requests[0].messages[0].content


def test_an_image_that_could_not_be_had_ends_the_encounter_with_its_reason_and_is_never_left_out():
    encounter, _, model = hold("initial", "DIAGNOSIS READY: x", images={})
    assert encounter.ended is EndReason.ROLE_FAILED
    assert "'ecg.png'" in (encounter.error or "")
    assert not model.requests
