import asyncio
from dataclasses import dataclass

import pytest

from openosce.encounters import DOCTOR, PATIENT, EndReason, Message, run_encounter
from openosce.errors import GraderError, ProviderError, RefusedError, RoleError

NURSE = "nurse"
GREETING = Message(DOCTOR, PATIENT, "What brings you in?")


class Scripted:
    """Says its lines one after the other, raises those that are errors, and keeps what it was shown."""

    def __init__(self, *lines):
        self._lines = list(lines)
        self.shown = []

    async def speak(self, transcript):
        self.shown.append(transcript)
        line = self._lines.pop(0)
        if isinstance(line, Exception):
            raise line
        return line


@dataclass
class Ward:
    """A station with a nurse: a doctor's line that starts with a role's name goes to that role."""

    opening: tuple = (GREETING,)
    cap: int = 10

    def address(self, speaker, text, transcript):
        if speaker != DOCTOR:
            return (Message(speaker, DOCTOR, text),)
        role, colon, _ = text.partition(":")
        return (Message(DOCTOR, role.lower() if colon else None, text),)

    def ending(self, transcript):
        last = transcript[-1]
        if len(transcript) >= self.cap:
            return EndReason.MESSAGE_CAP
        return EndReason.DIAGNOSED if last.speaker == DOCTOR and last.listener is None else None


def hold(station, **roles):
    return asyncio.run(run_encounter(station, roles))


def test_doctor_and_patient_alternate_until_the_station_ends_it():
    encounter = hold(Ward(), doctor=Scripted("Patient: since when?", "Gout."), patient=Scripted("My toe.", "Monday."))
    assert encounter.transcript == (
        GREETING,
        Message(PATIENT, DOCTOR, "My toe."),
        Message(DOCTOR, PATIENT, "Patient: since when?"),
        Message(PATIENT, DOCTOR, "Monday."),
        Message(DOCTOR, None, "Gout."),
    )
    assert (encounter.ended, encounter.error) == (EndReason.DIAGNOSED, None)


def test_each_role_is_shown_all_that_was_said_before_its_turn():
    doctor, patient = Scripted("Patient: since when?", "Gout."), Scripted("My toe.", "Monday.")
    encounter = hold(Ward(), doctor=doctor, patient=patient)
    shown = [patient.shown[0], doctor.shown[0], patient.shown[1], doctor.shown[1]]
    assert shown == [encounter.transcript[:n] for n in range(1, 5)]


def test_a_nurse_joins_without_a_change_to_the_loop():
    encounter = hold(
        Ward(),
        doctor=Scripted("Nurse: temperature, please.", "Gout."),
        patient=Scripted("My toe."),
        nurse=Scripted("38."),
    )
    assert [message.speaker for message in encounter.transcript] == [DOCTOR, PATIENT, DOCTOR, NURSE, DOCTOR]
    assert encounter.ended is EndReason.DIAGNOSED


def test_the_cap_of_the_station_ends_it():
    encounter = hold(Ward(cap=2), patient=Scripted("My toe."))
    assert (len(encounter.transcript), encounter.ended) == (2, EndReason.MESSAGE_CAP)


@pytest.mark.parametrize("ended", list(EndReason))
def test_an_ending_that_holds_at_once_asks_nobody(ended):
    class Over(Ward):
        def ending(self, transcript):
            return ended

    encounter = hold(Over())
    assert (encounter.transcript, encounter.ended, encounter.error) == ((GREETING,), ended, None)


@pytest.mark.parametrize(
    ("failure", "ended"),
    [
        (RoleError("an empty reply"), EndReason.ROLE_FAILED),
        (ProviderError("no reply after 5 tries"), EndReason.PROVIDER_FAILED),
        (RefusedError("content filter"), EndReason.REFUSED),
        (GraderError("not a role's own"), EndReason.ROLE_FAILED),
    ],
)
@pytest.mark.parametrize("who", [DOCTOR, PATIENT])
def test_a_failure_ends_it_with_its_reason_and_keeps_what_was_said(failure, ended, who):
    roles = {DOCTOR: Scripted(failure), PATIENT: Scripted("My toe.")} if who == DOCTOR else {PATIENT: Scripted(failure)}
    encounter = hold(Ward(), **roles)
    assert (encounter.ended, encounter.error) == (ended, str(failure))
    assert encounter.ended.is_failure
    assert [message.text for message in encounter.transcript][1:] == (["My toe."] if who == DOCTOR else [])


def test_only_infrastructure_counts_as_failure():
    failures = {reason for reason in EndReason if reason.is_failure}
    assert failures == {EndReason.ROLE_FAILED, EndReason.PROVIDER_FAILED, EndReason.REFUSED}


def test_nobody_may_speak_after_a_message_to_nobody():
    class Endless(Ward):
        def ending(self, transcript):
            return None

    doctor = Scripted("Gout.", "And another thing.")
    with pytest.raises(ValueError, match="lets nobody speak after"):
        hold(Endless(), doctor=doctor, patient=Scripted("My toe."))
    assert len(doctor.shown) == 1


def test_a_programming_error_in_a_role_is_not_taken_for_missing_data():
    with pytest.raises(ZeroDivisionError):
        hold(Ward(), patient=Scripted(ZeroDivisionError()))
