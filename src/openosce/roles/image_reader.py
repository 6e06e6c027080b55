"""`builtin/record` as image reader: hands the case's images to the doctor. It describes nothing.

Source: AgentClinic (2024), section on AgentClinic-NEJM.
"""

from openosce.cases import ImagePart
from openosce.encounters import Transcript

IMAGES = "images"


class RecordImageReader:
    """Says what is handed over: the captions and kinds of the record; the station adds the images themselves."""

    def __init__(self, part: ImagePart) -> None:
        self._part = part

    async def speak(self, transcript: Transcript) -> str:
        """Name the images; never fails."""
        if not self._part.images:
            return "There is no image in this case."
        names = [image.caption or image.kind or "without a caption" for image in self._part.images]
        count = "1 image" if len(names) == 1 else f"{len(names)} images"
        return f"Here you are, {count}: {'; '.join(names)}"
