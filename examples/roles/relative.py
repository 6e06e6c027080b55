"""A relative who answers for a child: one more role in AgentClinic, and no change to the loop that holds conversations.

    python examples/roles/relative.py run agentclinic-relative --only kawasaki-disease-01 --trials 1 --out runs/relative

It is the command `osce` with one more benchmark. The doctor speaks to the relative with `ASK RELATIVE: ...`.
"""

from dataclasses import replace
from functools import partial

from openosce.benchmarks import BENCHMARKS, RoleKind
from openosce.benchmarks.agentclinic import BENCHMARK as AGENTCLINIC
from openosce.benchmarks.agentclinic.station import AgentClinicStation
from openosce.cli import main
from openosce.encounters import DOCTOR, PATIENT
from openosce.roles.clinic_interviewer import ClinicInterviewer
from openosce.roles.clinic_tokens import read_diagnosis, requested_tests

RELATIVE, ASK = "relative", "ASK RELATIVE:"


class FamilyStation(AgentClinicStation):
    """AgentClinic's rules with one more in the room: whoever is asked answers, and all of them hear it."""

    @property
    def opening(self):
        (told,) = super().opening
        return (replace(told, text=f"{told.text} A relative is here too: to speak to them, begin with {ASK}"),)

    def address(self, speaker, text, transcript):
        said, *notices = super().address(speaker, text, transcript)
        listener = RELATIVE if said.listener == PATIENT and ASK in text else said.listener
        return (replace(said, listener=listener, heard_by=None), *notices)


class Relative:
    """Plays the patient's part from the relative's chair: with any model, or from the record."""

    def __init__(self, patient):
        self._patient = patient

    async def speak(self, transcript):
        chairs = {RELATIVE: PATIENT, PATIENT: RELATIVE}
        return await self._patient.speak(
            tuple(replace(plain(m), speaker=chairs.get(m.speaker, m.speaker)) for m in transcript)
        )


class Child:
    """A built-in child, too small to tell."""

    async def speak(self, transcript):
        return "I want to go home."


class Asking(ClinicInterviewer):
    """The built-in doctor, which puts its questions to the relative."""

    async def speak(self, transcript):
        text = await super().speak(tuple(map(plain, transcript)))
        return text if requested_tests(text) or read_diagnosis(text) is not None else f"{ASK} {text}"


def plain(message):
    return replace(message, text=message.text.removeprefix(ASK).strip())


def asking(place):
    return Asking(place.seed, place.settings.turns)


DOCTORS, PATIENTS = AGENTCLINIC.roles[DOCTOR], AGENTCLINIC.roles[PATIENT]
ROLES = {
    **AGENTCLINIC.roles,
    DOCTOR: RoleKind("builtin/asking", {"builtin/asking": asking}, DOCTORS.modelled),
    PATIENT: RoleKind("builtin/child", {"builtin/child": lambda place: Child()}, PATIENTS.modelled),
    RELATIVE: RoleKind(
        "builtin/record",
        {"builtin/record": lambda place: Relative(PATIENTS.builtins["builtin/record"](place))},
        lambda name, model, place: Relative(PATIENTS.modelled(name, model, place)),
    ),
}
TRIAL = partial(AGENTCLINIC.run_trial, station=FamilyStation)
BENCHMARK = replace(AGENTCLINIC, name="agentclinic-relative", roles=ROLES, run_trial=TRIAL)

if __name__ == "__main__":
    BENCHMARKS[BENCHMARK.name] = BENCHMARK
    main()
