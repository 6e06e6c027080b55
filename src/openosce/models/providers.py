"""Who serves models: the part of a model's name before the first `/`."""

from collections.abc import Callable
from pathlib import Path

from openosce.errors import StudyError
from openosce.models.model import Model, ModelSpec
from openosce.models.recorded import read_recorded
from openosce.models.script import read_script

BUILTIN_MODELS: dict[str, Callable[[Path], Model]] = {
    "builtin/script": read_script,
    "builtin/recorded": read_recorded,
}
"""Models that need no network; both read their replies from a file."""


def build_model(spec: ModelSpec) -> Model:
    """The model behind a name.

    Raises:
        StudyError: The provider or the model is unknown, or its file is missing.
    """
    if spec.name in BUILTIN_MODELS:
        file = spec.settings.get("file")
        if not file:
            raise StudyError(f'{spec.name} needs its replies: set file = "..." in the role\'s table')
        return BUILTIN_MODELS[spec.name](Path(file))
    if spec.provider == "builtin":
        raise StudyError(f"unknown built-in {spec.name!r}; the models are {', '.join(BUILTIN_MODELS)}")
    raise StudyError(f"unknown provider {spec.provider!r} in {spec.name!r}; known are builtin")
