"""The gateway to language models: one protocol, prompts as files, and models that need no network."""

from openosce.models.model import ChatMessage, Closable, Model, ModelSpec, Reply, Request, request_hash
from openosce.models.pacing import Gate, Lane, PacedModel, Rate
from openosce.models.prices import PriceBook, load_prices
from openosce.models.prompts import PromptPack, load_prompts
from openosce.models.recorded import Recorded, read_recorded
from openosce.models.script import Script, read_script
from openosce.models.vision import reads_images

__all__ = [
    "ChatMessage",
    "Closable",
    "Gate",
    "Lane",
    "Model",
    "ModelSpec",
    "PacedModel",
    "PriceBook",
    "PromptPack",
    "Rate",
    "Recorded",
    "Reply",
    "Request",
    "Script",
    "load_prices",
    "load_prompts",
    "read_recorded",
    "read_script",
    "reads_images",
    "request_hash",
]
