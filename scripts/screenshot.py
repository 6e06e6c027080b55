"""A picture of a page in headless Chromium: how a report looks, on a screen, on a phone, in the dark or printed.

    python scripts/screenshot.py                          # runs/demo/report.html into docs/report.png
    python scripts/screenshot.py PAGE PICTURE --width 390 --dark
    python scripts/screenshot.py PAGE PICTURE.pdf

It talks to the browser over its debugging port and needs nothing but Chromium and aiohttp.
"""

import argparse
import asyncio
import base64
import contextlib
import itertools
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_FLAGS = (
    "--headless --no-sandbox --disable-gpu --hide-scrollbars --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --remote-debugging-port=0 --force-color-profile=srgb"
).split()


class NoBrowser(Exception):
    """There is no Chromium, or it does not start."""


def chromium() -> Path:
    """Where Chromium is.

    Raises:
        NoBrowser: Nowhere.
    """
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        raise NoBrowser("no Chromium here; install the package `chromium`")
    return Path(found)


class Tab:
    """One tab, driven by the DevTools protocol."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.events: list[dict[str, Any]] = []
        """What the browser reported while commands were under way: dialogs, refusals, exceptions."""

    async def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            told = await self._socket.receive_json(timeout=60)
            if told.get("id") == number:
                if "error" in told:
                    raise RuntimeError(f"{method}: {told['error']['message']}")
                found: dict[str, Any] = told.get("result", {})
                return found
            self.events.append(told)

    async def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; of a promise, what it comes to."""
        told = await self.command("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in told:
            raise RuntimeError(told["exceptionDetails"].get("exception", {}).get("description", "failed"))
        return told["result"].get("value")

    async def show(self, address: str, *, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        """Load a page and wait until it is there."""
        for domain in ("Page", "Runtime", "Log"):
            await self.command(f"{domain}.enable")
        await self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.command("Emulation.setEmulatedMedia", features=[scheme])
        self.events.clear()
        await self.command("Page.navigate", url=address)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(await self._socket.receive_json(timeout=60))

    async def picture(self, *, whole: bool = False) -> bytes:
        """The page as PNG: what the window shows, or all of it."""
        told = await self.command("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(told["data"])

    async def printed(self) -> bytes:
        """The page as PDF, as it would be printed."""
        return base64.b64decode((await self.command("Page.printToPDF", printBackground=False))["data"])


@contextlib.asynccontextmanager
async def tab() -> AsyncIterator[Tab]:
    """A tab of a browser of its own, with an empty profile, gone afterwards.

    Raises:
        NoBrowser: There is no Chromium, or it does not start.
    """
    import aiohttp

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            chromium(), *_FLAGS, f"--user-data-dir={profile}", "about:blank",
            stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            port = await asyncio.wait_for(_port(process), 30)
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{port}/json") as reply:
                    pages = [target for target in await reply.json() if target["type"] == "page"]
                async with session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                    yield Tab(socket)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            await process.communicate()


async def _port(process: asyncio.subprocess.Process) -> int:
    """The debugging port, which the browser tells on its standard error."""
    assert process.stderr is not None
    async for line in process.stderr:
        if line.startswith(b"DevTools listening on"):
            return int(line.split(b"127.0.0.1:")[1].split(b"/")[0])
    raise NoBrowser("Chromium does not start")


async def take(page: Path, picture: Path, *, width: int, height: int, dark: bool, part: str, whole: bool) -> None:
    """Write a picture of a page, or a PDF where the name asks for one."""
    async with tab() as shown:
        await shown.show(page.resolve().as_uri() + part, width=width, height=height, dark=dark)
        await shown.evaluate("new Promise((done) => setTimeout(done, 500))")
        data = await (shown.printed() if picture.suffix == ".pdf" else shown.picture(whole=whole))
    picture.write_bytes(_smaller(data) if picture.suffix == ".png" else data)


def _smaller(png: bytes) -> bytes:
    """The picture with 256 colours: a third of the size, and nothing to see of it."""
    import io

    from PIL import Image

    small = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").quantize(256).save(small, "PNG", optimize=True)
    return small.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path, nargs="?", default=ROOT / "runs" / "demo" / "report.html")
    parser.add_argument("picture", type=Path, nargs="?", default=ROOT / "docs" / "report.png")
    parser.add_argument("--width", type=int, default=1100)
    parser.add_argument("--height", type=int, default=1300)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--whole", action="store_true", help="the whole page, not what the window shows")
    parser.add_argument("--part", default="", help="where to go on the page, for instance #conversation-0")
    given = vars(parser.parse_args())
    if not given["page"].is_file():
        sys.exit(f"error: no page at {given['page']}; make one with `make demo`")
    try:
        asyncio.run(take(given.pop("page"), given.pop("picture"), **given))
    except NoBrowser as problem:
        sys.exit(f"error: {problem}")


if __name__ == "__main__":
    main()
