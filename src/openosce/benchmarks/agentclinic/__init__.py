"""AgentClinic: a doctor with a budget of turns, a patient, tests to order, biases (README.md beside this file)."""

from collections.abc import Iterator, Mapping
from importlib import resources

from openosce.benchmarks.agentclinic.biases import find_biases, split_names
from openosce.benchmarks.agentclinic.expectation import expect
from openosce.benchmarks.agentclinic.measures import measures
from openosce.benchmarks.agentclinic.roles import ROLES
from openosce.benchmarks.agentclinic.settings import DIALOGUE, VIGNETTE_MCQ, AgentClinicSettings
from openosce.benchmarks.agentclinic.trial import run_trial
from openosce.benchmarks.benchmark import Benchmark
from openosce.grading import find_policy
from openosce.models import PromptPack


def _arms(settings: AgentClinicSettings) -> tuple[str, ...]:
    return settings.arms


def _is_mcq(arm: str) -> bool:
    return arm == VIGNETTE_MCQ


def _policy(settings: AgentClinicSettings) -> str:
    return str(find_policy(settings.policy))


def _shows_images(settings: AgentClinicSettings) -> bool:
    return settings.images != "none"


def _data(settings: AgentClinicSettings) -> dict[str, str]:
    return {"test_prices": settings.prices.hash}


def _notes(settings: AgentClinicSettings, models: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(_of_built_in_roles(settings, models))


def _of_built_in_roles(settings: AgentClinicSettings, models: Mapping[str, str]) -> Iterator[str]:
    """What rules do not do, where the study asks for it."""
    ruled = {
        role: name
        for role, name in models.items()
        if name.startswith("builtin/") and not name.endswith(("/script", "/recorded"))
    }
    biased = {name.partition(":")[0] for name in split_names(settings.bias)}
    for role in sorted(biased & ruled.keys()):
        yield f"{ruled[role]}, the {role}, does not act out biases: its conditions differ in name only"
    if settings.perception and "patient" in ruled:
        yield f"{ruled['patient']}, the patient, gives no ratings"
    if settings.images != "none" and "doctor" in ruled:
        yield f"{ruled['doctor']}, the doctor, cannot see images"


def _check(settings: AgentClinicSettings, prompts: PromptPack) -> None:
    """Every bias must be in the prompt pack, where the user's own stand too."""
    find_biases(settings.bias, prompts, settings.bias_disease)


BENCHMARK = Benchmark(
    name="agentclinic",
    settings=AgentClinicSettings,
    roles=ROLES,
    prompts=(resources.files("openosce.benchmarks.agentclinic") / "prompts",),
    arms=_arms,
    is_mcq=_is_mcq,
    policy=_policy,
    run_trial=run_trial,
    expect=expect,
    condition=DIALOGUE,
    measures=measures,
    unswept_arms=frozenset({VIGNETTE_MCQ}),
    shows_images=_shows_images,
    data=_data,
    notes=_notes,
    check=_check,
)
