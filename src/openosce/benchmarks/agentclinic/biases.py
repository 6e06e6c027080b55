"""The biases: text files of the prompt pack, `biases/<role>/<name>.txt`, and what the roles make of them.

Source: AgentClinic (2024), Fig. 3 and 4 and appendix B (12 for the doctor, 11 for the patient), in our own words. The
disease that the cognitive ones pull towards is cancer there, a parameter here. A file's first line may name its kind:
`{# kind: cognitive -#}`.
"""

import re
from dataclasses import dataclass

from openosce.encounters import DOCTOR, PATIENT, Transcript
from openosce.errors import StudyError
from openosce.models import PromptPack

ROLES = (DOCTOR, PATIENT)
FOLDER = "biases"
OWN_KIND = "own"
"""The kind of a bias whose file names none."""

_KIND = re.compile(r"\A\s*\{#-?\s*kind:\s*(\w+)\s*-?#\}")
_REFUSALS = (
    "as an ai", "as a language model", "ai language model", "i am an ai", "i'm an ai", "ai assistant",
    "can't assist with", "cannot assist with", "can't comply", "cannot comply", "can't fulfill", "cannot fulfill",
    "can't role-play", "cannot role-play", "can't roleplay", "cannot roleplay", "can't play the", "won't play the",
    "can't engage in", "cannot engage in", "won't engage in", "will not engage in", "can't participate in",
    "cannot participate in", "can't take on", "cannot take on", "can't act out", "cannot act out",
    "i do not discriminate", "i don't discriminate", "i do not hold any bias", "i don't hold any bias",
    "i do not have any bias", "i don't have any bias", "i do not judge people based on",
    "i don't judge people based on", "i do not trust people based on", "i don't trust people based on",
    "i do not distrust", "i don't distrust", "not appropriate to make assumptions", "not appropriate to discriminate",
    "without any bias", "without bias", "free of bias", "free from bias", "regardless of gender", "regardless of race",
    "regardless of their", "regardless of sexual orientation", "regardless of religion", "harmful stereotypes",
)  # fmt: skip


@dataclass(frozen=True)
class Bias:
    """One bias of one role."""

    name: str
    role: str
    kind: str
    """`cognitive`, `implicit`, or what its file says."""
    text: str
    """As the role is told it, the disease filled in."""


def known_biases(prompts: PromptPack) -> tuple[str, ...]:
    """Every bias of a pack as `role:name`, the user's own among them."""
    found = (name.removeprefix(f"{FOLDER}/").split("/") for name in prompts.texts if name.startswith(f"{FOLDER}/"))
    return tuple(sorted(":".join(parts) for parts in found if len(parts) == 2))


def find_bias(name: str, prompts: PromptPack, disease: str) -> Bias:
    """The bias of this name.

    Args:
        name: `doctor:recency`, `patient:self_diagnosis`, ...
        prompts: The prompt pack.
        disease: What a cognitive bias pulls towards.

    Raises:
        StudyError: There is none; the message lists those there are.
    """
    known = known_biases(prompts)
    if name not in known:
        raise StudyError(f"unknown bias {name!r}; known are {', '.join(known)}")
    role, _, own = name.partition(":")
    template = f"{FOLDER}/{role}/{own}"
    kind = _KIND.match(prompts.texts[template])
    return Bias(own, role, kind[1] if kind else OWN_KIND, prompts.render(template, disease=disease))


def find_biases(names: str, prompts: PromptPack, disease: str) -> tuple[Bias, ...]:
    """The biases of a study, joined by `+`; none for an empty text.

    Raises:
        StudyError: One is unknown.
    """
    return tuple(find_bias(name, prompts, disease) for name in split_names(names))


def bias_text(names: str, role: str, prompts: PromptPack, disease: str) -> str:
    """What one role is told of the study's biases; nothing where none is its own.

    Raises:
        StudyError: One of the biases is unknown.
    """
    return "\n".join(bias.text for bias in find_biases(names, prompts, disease) if bias.role == role)


def split_names(names: str) -> tuple[str, ...]:
    """The names of a setting `doctor:recency+patient:recency`."""
    return tuple(name.strip() for name in names.split("+")) if names.strip() else ()


def refuses(text: str) -> bool:
    """Whether a reply refuses to act out a bias, or leaves the role to disown it. By phrases, so that it may miss some.

    Source: AgentClinic (2024), "Bias and diagnostic accuracy", which counted 13 refusals in 107 dialogues.
    """
    said = " ".join(text.casefold().replace("’", "'").split())
    return any(phrase in said for phrase in _REFUSALS)


def refusals(transcript: Transcript, roles: frozenset[str]) -> tuple[str, ...]:
    """The replies of biased roles that refuse, each with its speaker."""
    return tuple(f"{m.speaker}: {m.text}" for m in transcript if m.speaker in roles and refuses(m.text))
