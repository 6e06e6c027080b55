"""The gateway to language models: one protocol, prompts as files, and models that need no network."""

from openosce.models.model import ChatMessage, Model, ModelSpec, Reply, Request, request_hash
from openosce.models.prompts import PromptPack, load_prompts
from openosce.models.recorded import Recorded, read_recorded
from openosce.models.script import Script, read_script

__all__ = [
    "ChatMessage",
    "Model",
    "ModelSpec",
    "PromptPack",
    "Recorded",
    "Reply",
    "Request",
    "Script",
    "load_prompts",
    "read_recorded",
    "read_script",
    "request_hash",
]
