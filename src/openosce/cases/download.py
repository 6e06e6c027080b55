"""Downloading the images of a set into the cache, when asked for; never in a run."""

import time
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from openosce.cases.images import MAX_BYTES, is_url, put_into_cache

_SECONDS_SILENT, _SECONDS_IN_ALL = 30.0, 120.0
_CHUNK = 2**16


class OnlyTheWeb(HTTPRedirectHandler):
    """Follows a redirect to http and https only: another scheme could read this machine's files."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        if not is_url(newurl):
            fp.close()
            raise ValueError(f"redirected to {newurl[:80]!r}, which is no http(s) address")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetch_image(url: str, cache: Path) -> Path:
    """Download one image into the cache; gives the file.

    Raises:
        ValueError: One line says why it cannot be had: no http(s) URL, no answer, too large, no image.
    """
    if not is_url(url):
        raise ValueError("expected an http(s) URL")
    try:
        return put_into_cache(url, _download(url), cache)
    except HTTPError as failure:
        failure.close()
        reason = " ".join(str(failure.reason).split())[:200]
        raise ValueError(f"the server answered {failure.code} {reason}") from None
    except URLError as failure:
        raise ValueError(f"no answer: {failure.reason}") from None
    except (OSError, HTTPException) as failure:
        raise ValueError(f"broken off: {failure or type(failure).__name__}") from None


def _download(url: str) -> bytes:
    request = Request(url, headers={"User-Agent": "openosce", "Accept": "image/*"})
    until = time.monotonic() + _SECONDS_IN_ALL
    data = bytearray()
    with build_opener(OnlyTheWeb).open(request, timeout=_SECONDS_SILENT) as answer:
        while chunk := answer.read1(_CHUNK):
            data += chunk
            if len(data) > MAX_BYTES:
                raise ValueError(f"larger than {MAX_BYTES // 2**20} MB")
            if time.monotonic() > until:
                raise ValueError(f"not complete after {_SECONDS_IN_ALL:.0f} seconds")
        missing = answer.length
    if missing:
        raise ValueError(f"broken off: {missing} bytes are missing")
    return bytes(data)
