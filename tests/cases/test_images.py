import base64
import hashlib
import json
import os
import struct
import zlib
from io import BytesIO

import pytest
from PIL import Image as Pillow

from openosce.cases import Image, ImageStore, image_part, read_cases
from openosce.cases.images import MAX_BYTES, MAX_PIXELS, cached, check_image, default_cache, is_url, put_into_cache
from openosce.errors import CaseFileError, InputError

URL = "https://example.org/images?id=1&width=1500"


def drawn(kind="PNG", size=(40, 30)):
    file = BytesIO()
    Pillow.new("RGB", size, "white").save(file, kind)
    return file.getvalue()


def bomb(width, height):
    """A PNG that says it is huge; hardly any bytes stand for it."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0" * 1000))
        + chunk(b"IEND", b"")
    )


@pytest.fixture
def store(tmp_path):
    (tmp_path / "set").mkdir()
    return ImageStore(tmp_path / "set", tmp_path / "cache")


def refusal(store, path, **parts):
    with pytest.raises(CaseFileError) as caught:
        store.load(Image(path=path, **parts))
    message = str(caught.value)
    assert "\n" not in message
    assert isinstance(caught.value, InputError)
    return message


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_the_format_is_told_by_the_content_whatever_the_name(store, tmp_path, kind):
    (tmp_path / "set" / "image.dat").write_bytes(drawn(kind))
    picture = store.load(Image(path="image.dat"))
    assert (picture.mime, picture.data) == (f"image/{kind.lower()}", drawn(kind))
    head, _, body = picture.data_url.partition(",")
    assert (head, base64.b64decode(body)) == (f"data:image/{kind.lower()};base64", drawn(kind))


def test_images_lie_beside_the_case_file_or_below(tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "a.png").write_bytes(drawn())
    file = tmp_path / "cases.jsonl"
    file.write_text(
        json.dumps({"id": "a", "source": "s", "diagnosis": {"name": "Gout"}, "images": [{"path": "figures/a.png"}]})
    )
    (case,) = read_cases(file)
    assert ImageStore(file).load(case.images[0]) == ImageStore(tmp_path).load(case.images[0])


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "not an image in one of the formats PNG, JPEG, GIF, WEBP"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not an image in one of the formats"),
        (b"%PDF-1.7 ...", "not an image in one of the formats"),
        (drawn("BMP"), "not an image in one of the formats"),
        (drawn("TIFF"), "not an image in one of the formats"),
        (drawn(size=(400, 300))[:200], "the image cannot be used: "),
        (drawn("JPEG", (400, 300))[:-900], "the image cannot be used: "),
        (bomb(10_000, 5_001), f"the image cannot be used: 10000 x 5001 pixels; at most {MAX_PIXELS:,} in all"),
        (bomb(12_000, 12_000), "the image cannot be used: "),
        (bomb(100_000, 100_000), "the image cannot be used: "),
        (bomb(0, 10), "not an image in one of the formats"),
        (drawn() + b"\0" * MAX_BYTES, "the image is larger than 10 MB"),
    ],
    ids=range(12),
)
def test_what_is_no_usable_image_is_refused_in_one_line(store, tmp_path, data, problem):
    (tmp_path / "set" / "a.png").write_bytes(data)
    assert refusal(store, "a.png").startswith(f"a.png: {problem}")


def test_an_image_that_is_missing_or_a_folder_is_refused(store, tmp_path):
    (tmp_path / "set" / "folder").mkdir()
    assert refusal(store, "a.png") == "a.png: the image cannot be read: No such file or directory"
    assert refusal(store, "folder") == "folder: the image cannot be read: Is a directory"


@pytest.mark.parametrize(
    "path", ["../secret.png", "link.png", "{outside}", "a\0b", "x" * 5_000, "file:///etc/passwd", "~"]
)
def test_no_path_leads_out_of_the_folder_of_the_cases(store, tmp_path, path):
    outside = tmp_path / "secret.png"
    outside.write_bytes(drawn())
    (tmp_path / "set" / "link.png").symlink_to(outside)
    message = refusal(store, path.format(outside=outside))
    assert "expected an http(s) URL, or a path inside the folder" in message or "cannot be read" in message
    assert len(message) < 400


def test_another_image_than_the_case_means_is_refused(store, tmp_path):
    (tmp_path / "set" / "a.png").write_bytes(drawn())
    right = hashlib.sha256(drawn()).hexdigest()
    assert store.load(Image(path="a.png", sha256=right.upper())).data == drawn()
    assert "sha256 differs" in refusal(store, "a.png", sha256="0" * 64)


def test_a_url_is_taken_from_the_cache_and_never_downloaded(store, tmp_path):
    assert refusal(store, URL) == f"{URL}: not downloaded yet; `osce cases fetch-images` does it"
    assert not store.is_cached(URL)
    file = put_into_cache(URL, drawn("JPEG"), tmp_path / "cache")
    assert (file.name, store.is_cached(URL)) == (f"{hashlib.sha256(URL.encode()).hexdigest()}.jpg", True)
    assert store.load(Image(path=URL)).mime == "image/jpeg"
    assert cached(URL + "0", tmp_path / "cache") is None


def test_the_cache_keeps_whole_images_only(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="not an image"):
        put_into_cache(URL, b"<html>", tmp_path)
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        put_into_cache(URL, drawn(), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"OPENOSCE_CACHE": "/c"}, "/c/images"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/openosce/images"),
        ({}, os.path.expanduser("~/.cache/openosce/images")),  # noqa: PTH111
    ],
)
def test_the_cache_lies_where_the_user_says(monkeypatch, variables, expected):
    for name in ("OPENOSCE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert str(default_cache()) == expected


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("http://a/b", True),
        ("HTTPS://a", True),
        ("http:a", False),
        ("file:///a", False),
        ("ftp://a/b", False),
        ("a.png", False),
        ("http://[a", False),
    ],
)
def test_only_addresses_of_the_web_are_urls(path, is_one):
    assert is_url(path) is is_one


def test_what_an_image_shows_is_never_handed_to_a_doctor():
    for case in read_cases("starter-images"):
        assert all(image.shows for image in case.images)
        assert [image.shows for image in image_part(case).images] == [None]


def test_pictures_of_the_largest_size_are_checked():
    assert check_image(drawn("PNG", (5_000, 5_000))).mime == "image/png"
