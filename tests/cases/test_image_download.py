"""Downloading images, from a server of our own on this machine."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO

import pytest
from PIL import Image as Pillow
from typer.testing import CliRunner

from openosce.cases.download import fetch_image
from openosce.cases.images import MAX_BYTES, cached
from openosce.cli import app


def drawn():
    file = BytesIO()
    Pillow.new("RGB", (40, 30), "white").save(file, "PNG")
    return file.getvalue()


PNG = drawn()


class Pages(BaseHTTPRequestHandler):
    asked: list[str]

    def do_GET(self):
        self.asked.append(self.path)
        pages = {"/to-file": self.to_file, "/to-ftp": self.to_ftp, "/to-image": self.to_image, "/round": self.round}
        pages |= {"/large": self.large, "/endless": self.endless, "/short": self.short}
        pages.get(self.path, self.plain)()

    def plain(self):
        if self.path.startswith("/image"):
            self.answer(200, PNG)
        elif self.path == "/page":
            self.answer(200, b"<html>no image</html>", "image/png")
        else:
            self.answer(404, b"")

    def answer(self, code, body, kind="application/octet-stream", **headers):
        self.send_response(code)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def to_file(self):
        self.answer(302, b"", Location="file:///etc/passwd")

    def to_ftp(self):
        self.answer(302, b"", Location="ftp://127.0.0.1/a")

    def to_image(self):
        self.answer(302, b"", Location="/image")

    def round(self):
        self.answer(302, b"", Location="/round")

    def large(self):
        self.answer(200, PNG + b"\0" * MAX_BYTES)

    def short(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(PNG) + 100))
        self.end_headers()
        self.wfile.write(PNG)

    def endless(self):
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"\0" * 2**16)
        except OSError:
            return

    def log_message(self, format, *args):
        pass


@pytest.fixture
def server():
    pages = type("OwnPages", (Pages,), {"asked": []})
    http = ThreadingHTTPServer(("127.0.0.1", 0), pages)
    http.daemon_threads = False  # closing waits for the pages that are still being sent
    http.address = f"http://127.0.0.1:{http.server_address[1]}"
    http.asked = pages.asked
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield http
    http.shutdown()
    thread.join()
    http.server_close()


@pytest.mark.parametrize("page", ["/image?id=1&width=2", "/to-image"])
def test_an_image_is_put_into_the_cache(server, tmp_path, page):
    file = fetch_image(server.address + page, tmp_path)
    assert file.read_bytes() == PNG
    assert cached(server.address + page, tmp_path) == file


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ("/nothing", "the server answered 404"),
        ("/page", "not an image in one of the formats"),
        ("/to-file", "Redirection to url 'file:///etc/passwd' is not allowed"),
        ("/to-ftp", "redirected to 'ftp://127.0.0.1/a', which is no http"),
        ("/round", "the server answered 302"),
        ("/large", "larger than 10 MB"),
        ("/endless", "larger than 10 MB"),
        ("/short", "broken off: 100 bytes are missing"),
        ("/with blank", "broken off: URL can't contain control characters"),
    ],
)
def test_what_cannot_be_had_is_a_line_and_leaves_nothing_behind(server, tmp_path, page, problem):
    with pytest.raises(ValueError, match=problem) as caught:
        fetch_image(server.address + page, tmp_path)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://127.0.0.1/a", "a.png", "http:///a", "data:image/png;base64,"]
)
def test_other_addresses_are_refused(tmp_path, url):
    with pytest.raises(ValueError, match="expected an http"):
        fetch_image(url, tmp_path)


def test_a_server_that_is_not_there_is_a_line(tmp_path):
    with pytest.raises(ValueError, match="no answer: "):
        fetch_image("http://127.0.0.1:1/a.png", tmp_path)


CASE = '{{"id": "{0}", "source": "s", "diagnosis": {{"name": "Gout"}}, "images": [{{"path": "{1}"}}]}}\n'


@pytest.fixture
def fetch(server, tmp_path):
    """Run the command on cases with these pages of the server."""

    def fetch(*pages, say=None, flags=("--yes",)):
        file = tmp_path / "cases.jsonl"
        paths = [page if "." in page else server.address + page for page in pages]
        file.write_text("".join(CASE.format(n, path) for n, path in enumerate(paths)))
        command = ["cases", "fetch-images", str(file), "--cache", str(tmp_path / "cache"), *flags]
        return CliRunner().invoke(app, command, input=say)

    return fetch


def test_each_url_is_downloaded_once_and_what_is_there_is_left(fetch, server):
    first = fetch("/image1", "/image2", "/image1", "local.png")
    assert (first.exit_code, first.stdout.splitlines()[-1]) == (0, "2 downloaded, 0 failed")
    again = fetch("/image1", "/image2", "/image3")
    assert "3 images are URLs, 2 of them are in" in again.stdout
    assert again.stdout.splitlines()[-1] == "1 downloaded, 0 failed"
    assert sorted(server.asked) == ["/image1", "/image2", "/image3"]


def test_failures_are_listed_and_the_others_are_kept(fetch, server, tmp_path):
    result = fetch("/nothing", "/image1", "/page")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1] == "1 downloaded, 2 failed"
    assert f"{server.address}/nothing: the server answered 404 Not Found" in result.stderr.splitlines()
    assert cached(server.address + "/image1", tmp_path / "cache")


def test_nothing_is_downloaded_without_a_yes(fetch, server):
    result = fetch("/image1", say="n\n", flags=())
    assert (result.exit_code, server.asked) == (1, [])
    assert f"download 1 from {server.address.removeprefix('http://')}?" in result.stdout
    assert fetch("/image1", say="y\n", flags=()).exit_code == 0


def test_a_set_without_urls_asks_nothing(fetch, server):
    result = fetch("a.png", say="", flags=())
    assert (result.exit_code, server.asked) == (0, [])
    assert "0 images are URLs" in result.stdout
