"""Which models are known to read no images. A model that nobody knows is taken at its endpoint's word."""

import re

from openosce.models.model import ModelSpec

_TEXT_ONLY = re.compile(
    r"(?:^|[/-])(?:gpt-3\.5|gpt-4-(?:0314|0613|1106-preview|0125-preview)|o1-mini|o1-preview|o3-mini|claude-2|claude-instant"
    r"|deepseek(?!-vl)|mistral-7b|mixtral|ministral|llama-?2|llama-3(?:\.1|\.3)?-\d+b|meta-llama-3(?:\.1)?-\d+b"
    r"|phi-3(?:\.5)?-(?:mini|small|medium)|qwen(?:1\.5|2|2\.5|3)-\d|command-r|meditron|biomistral|smollm2)",
    re.IGNORECASE,
)
"""Families by name, as far as their makers' own pages say that they take text alone."""


def reads_images(spec: ModelSpec) -> bool:
    """Whether a model may be sent images: as the study says or, where it says nothing, unless it is known not to."""
    if spec.vision is not None:
        return spec.vision
    return _TEXT_ONLY.search(spec.name) is None
