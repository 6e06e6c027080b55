"""The images of cases: a file beside the case, or a URL whose copy lies in the cache. A run never downloads.

Nothing reaches a doctor that was not decoded in full: a truncated, foreign or oversized file is refused in one line.
"""

import hashlib
import os
import warnings
from base64 import b64encode
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit

from openosce.cases.readers import folder_of
from openosce.cases.record import Image
from openosce.errors import CaseFileError

MAX_BYTES = 10 * 2**20
MAX_PIXELS = 50_000_000
FORMATS = {"PNG": ".png", "JPEG": ".jpg", "GIF": ".gif", "WEBP": ".webp"}
"""What chat-completion endpoints accept, by Pillow's names, with the endings of cached files."""


@dataclass(frozen=True)
class Picture:
    """The checked bytes of an image."""

    mime: str
    data: bytes

    @property
    def data_url(self) -> str:
        """The image as a `data:` URL, the form in which a chat completion takes it."""
        return f"data:{self.mime};base64,{b64encode(self.data).decode('ascii')}"


class ImageStore:
    """Finds the images of one set of cases."""

    def __init__(self, source: str | Path, cache: Path | None = None) -> None:
        """`source`: the set or path the cases were read from; `cache`: where `fetch_image` puts downloads."""
        self._folder = folder_of(source)
        self._cache = cache or default_cache()

    def load(self, image: Image) -> Picture:
        """The image, checked.

        Raises:
            CaseFileError: It is not there, too large, in no known format or damaged, or not the one of `sha256`.
        """
        try:
            file = self._find(image.path)
            if file.stat().st_size > MAX_BYTES:
                raise ValueError(_too_large())
            picture = check_image(file.read_bytes())
            if image.sha256 and image.sha256.lower() != hashlib.sha256(picture.data).hexdigest():
                raise ValueError("another image than the case means (sha256 differs); put the right one there")
        except OSError as failure:
            raise _refused(image, f"the image cannot be read: {failure.strerror}") from None
        except ValueError as problem:
            raise _refused(image, str(problem)) from None
        return picture

    def is_cached(self, url: str) -> bool:
        """Whether the URL has a copy in the cache."""
        return cached(url, self._cache) is not None

    def _find(self, path: str) -> Path:
        if is_url(path):
            copy = cached(path, self._cache)
            if copy is None:
                raise ValueError("not downloaded yet; `osce cases fetch-images` does it")
            return copy
        # A case file comes from anywhere: it must not send other files of this machine to a provider.
        try:
            file = (self._folder / path).resolve()
            inside = file.is_relative_to(self._folder.resolve()) and not Path(path).is_absolute()
        except (OSError, ValueError, RuntimeError):  # a null byte, a name too long, a circle of links
            inside = False
        if not inside:
            raise ValueError("expected an http(s) URL, or a path inside the folder of the case file")
        return file


def _refused(image: Image, problem: str) -> CaseFileError:
    # Named as the case names it: where the case lies on this machine is nobody's business in a run's records.
    return CaseFileError(image.path[:200], None, problem)


def check_image(data: bytes) -> Picture:
    """The picture of some bytes, told and decoded by its content.

    Raises:
        ValueError: It is too large, in none of the known formats, or damaged.
    """
    from PIL import Image as Pillow
    from PIL import UnidentifiedImageError

    if len(data) > MAX_BYTES:
        raise ValueError(_too_large())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Pillow.DecompressionBombWarning)
            with Pillow.open(BytesIO(data), formats=list(FORMATS)) as opened:
                width, height = opened.size
                if width * height > MAX_PIXELS:
                    raise ValueError(f"{width} x {height} pixels; at most {MAX_PIXELS:,} in all")
                opened.load()
                kind = opened.format or ""
    except UnidentifiedImageError:
        raise ValueError(f"not an image in one of the formats {', '.join(FORMATS)}") from None
    except Exception as failure:  # Pillow's decoders raise whatever damaged bytes lead them to
        raise ValueError(f"the image cannot be used: {str(failure)[:200]}") from None
    return Picture(f"image/{kind.lower()}", data)


def _too_large() -> str:
    return f"the image is larger than {MAX_BYTES // 2**20} MB"


def is_url(path: str) -> bool:
    """Whether an image's path is to be downloaded."""
    try:
        address = urlsplit(path)
    except ValueError:
        return False
    return address.scheme in ("http", "https") and bool(address.netloc)


def default_cache() -> Path:
    """Where downloaded images lie: `$OPENOSCE_CACHE`, or `openosce` in the user's cache folder."""
    own = os.environ.get("OPENOSCE_CACHE")
    base = Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "openosce"
    return base / "images"


def cached(url: str, cache: Path) -> Path | None:
    """The copy of a URL in the cache, if it has one."""
    files = (cache / f"{_stem(url)}{ending}" for ending in FORMATS.values())
    return next((file for file in files if file.is_file()), None)


def put_into_cache(url: str, data: bytes, cache: Path) -> Path:
    """Keep a checked copy of a URL, whole or not at all.

    Raises:
        ValueError: The bytes are no usable image.
    """
    picture = check_image(data)
    file = cache / f"{_stem(url)}{FORMATS[picture.mime.removeprefix('image/').upper()]}"
    cache.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(f".{os.getpid()}.part")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)
    return file


def _stem(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()
