"""Fetching somebody else's set of cases from the Hugging Face hub, when the user asks for it and accepts its licence.

Source: the hub's public interface: `GET /api/datasets/NAME/tree/main?recursive=true` lists the files with their hashes,
`GET /datasets/NAME/resolve/main/PATH` gives one. `HF_ENDPOINT` and `HF_TOKEN` mean what they mean to the hub's own
client. The token goes to the hub alone, never to where it redirects to, and into no message and no file.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import Request, build_opener

from openosce.cases.download import OnlyTheWeb
from openosce.cases.fetched import FETCHED, RECORD, FetchedFile, FetchRecord, read_record, refuse_changes
from openosce.cases.images import is_url
from openosce.errors import CaseFileError, StudyError

MAX_BYTES = 512 * 2**20
"""Of one file."""
HUB = "https://huggingface.co"
_MAX_LISTING, _MAX_FILES = 8 * 2**20, 100
_SECONDS_SILENT = 30.0
_CHUNK = 2**16
_ENDINGS = (".json", ".jsonl")
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")

OnBytes = Callable[[str, int, int | None], None]
"""Told of a file's name, the bytes that are there, and how many there will be, where that is known."""


@dataclass(frozen=True)
class _Remote:
    """A file in a repository."""

    repository: str
    path: str
    size: int
    """Bytes, 0 where the listing does not say."""
    digest: str | None
    """`sha256:...`, or `git:...`, the hash under which git knows it."""

    @property
    def local(self) -> str:
        """Its name in the folder; no path, whatever the repository's says."""
        return f"{self.repository.rpartition('/')[2]}.{self.path.replace('/', '.')}"


def is_whole(name: str, folder: Path) -> bool:
    """Whether the set is in the folder already, unchanged.

    Raises:
        CaseFileError: A file has been changed since it was fetched.
    """
    record = read_record(folder)
    if record is None or not record.is_complete:
        return False
    if record.name != name:
        raise CaseFileError(folder, None, f"holds the fetched set {record.name!r}; give another folder with --to")
    gone = [file for file in record.files if not (folder / file).exists()]
    there = {file: noted for file, noted in record.files.items() if file not in gone}
    refuse_changes(folder, record.model_copy(update={"files": there}))
    return not gone


def fetch(name: str, folder: Path, on_bytes: OnBytes = lambda file, done, total: None) -> FetchRecord:
    """Fetch a set into a folder. The caller has had its licence accepted; stopped, the same call goes on.

    Args:
        name: One of `FETCHED`.
        folder: Where to; made where it is missing.
        on_bytes: Told of the progress.

    Raises:
        StudyError: No such set, or `HF_ENDPOINT` or `HF_TOKEN` cannot be used.
        CaseFileError: The hub cannot be reached, refuses, sends something else, or a file here has been changed.
    """
    if name not in FETCHED:
        raise StudyError(f"unknown set {name!r}; `osce cases fetch` knows {', '.join(FETCHED)}")
    found = FETCHED[name]
    before = read_record(folder)
    files = dict(before.files) if before else {}
    there = {file: noted for file, noted in files.items() if (folder / file).exists()}
    if before:
        refuse_changes(folder, before.model_copy(update={"files": there}))
    remote = [file for repository in found.repositories for file in _listing(repository)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in remote:
            if file.local not in there:
                there[file.local] = _download(file, folder, on_bytes)
                _write(folder, FetchRecord(name=name, licence=found.licence, is_complete=False, files=there))
        record = FetchRecord(name=name, licence=found.licence, is_complete=True, files=there)
        _write(folder, record)
    except OSError as failure:
        raise CaseFileError(folder, None, f"cannot be written: {failure.strerror or failure}") from None
    return record


def _write(folder: Path, record: FetchRecord) -> None:
    unfinished = folder / f"{RECORD}.{os.getpid()}.part"
    try:
        unfinished.write_text(record.model_dump_json(indent=1) + "\n", encoding="utf-8")
        unfinished.replace(folder / RECORD)
    finally:
        unfinished.unlink(missing_ok=True)


def _endpoint() -> str:
    endpoint = (os.environ.get("HF_ENDPOINT") or HUB).rstrip("/")
    try:
        parts = urlsplit(endpoint)
        is_plain = is_url(endpoint) and parts.username is None and not parts.query and parts.port != 0
    except ValueError:
        is_plain = False
    if not is_plain:  # one with a password is not shown
        raise StudyError("HF_ENDPOINT: expected an http(s) address without user and query; correct it, or unset it")
    return endpoint


def _request(path: str, **headers: str) -> Request:
    request = Request(f"{_endpoint()}/{path}", headers={"User-Agent": "openosce", **headers})
    token = (os.environ.get("HF_TOKEN") or "").strip()
    if token:
        # Not into any message: the client's own would show what it refuses.
        if not re.fullmatch(r"[!-~]+", token):
            raise StudyError("HF_TOKEN: holds a blank or a sign that no token has; set it anew")
        if request.type != "https" and urlsplit(_endpoint()).hostname not in _THIS_MACHINE:
            raise StudyError("HF_ENDPOINT: no https address, and HF_TOKEN is not sent over another; unset one of them")
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    return request


def _open(request: Request, where: str) -> HTTPResponse:
    """Ask the hub.

    Raises:
        CaseFileError: It does not answer, or refuses.
    """
    try:
        answer: HTTPResponse = build_opener(OnlyTheWeb).open(request, timeout=_SECONDS_SILENT)
    except HTTPError as failure:
        failure.close()
        raise CaseFileError(where, None, _refusal(failure.code)) from None
    except URLError as failure:
        problem = f"no answer ({failure.reason}); fetching needs the network, and HF_ENDPOINT names a mirror"
        raise CaseFileError(where, None, problem) from None
    except (OSError, HTTPException, ValueError) as failure:
        raise CaseFileError(where, None, f"broken off: {failure or type(failure).__name__}") from None
    return answer


def _refusal(code: int) -> str:
    if code in (401, 403):
        has_token = bool((os.environ.get("HF_TOKEN") or "").strip())
        mend = (
            "the token in HF_TOKEN has no access; accept the terms on the data set's page, or set another token"
            if has_token
            else "accept the terms on the data set's page, and put a token of yours into the environment as HF_TOKEN"
        )
        return f"the hub answered {code}, access only with permission; {mend}"
    if code == 404:
        return "the hub answered 404, no such data set or file; was it renamed or withdrawn?"
    return f"the hub answered {code}; try again later"


def _where(repository: str, path: str = "") -> str:
    """A place on the hub as messages name it: without user, password and query of the endpoint."""
    return "/".join(filter(None, (urlsplit(_endpoint()).hostname, "datasets", repository, path)))


def _listing(repository: str) -> list[_Remote]:
    """The data files of a repository.

    Raises:
        CaseFileError: There is none, or the answer is no listing.
    """
    where = _where(repository)
    with _open(_request(f"api/datasets/{repository}/tree/main?recursive=true"), where) as answer:
        try:
            text = answer.read(_MAX_LISTING + 1)
            entries = json.loads(text) if len(text) <= _MAX_LISTING else None
        except (OSError, HTTPException, ValueError, RecursionError):
            entries = None
    if not isinstance(entries, list):
        raise CaseFileError(where, None, "expected the list of its files as JSON; is HF_ENDPOINT a hub?")
    named = [entry for entry in entries if isinstance(entry, dict) and entry.get("type") == "file"]
    files = [file for file in (_remote(repository, entry) for entry in named) if file]
    if not files or len(files) > _MAX_FILES:
        there = ", ".join(repr(str(entry.get("path"))[:60]) for entry in named[:5]) or "none"
        raise CaseFileError(where, None, f"expected 1 to {_MAX_FILES} files *.json or *.jsonl; its files: {there}")
    return files


def _remote(repository: str, entry: dict[str, Any]) -> _Remote | None:
    path, large = entry.get("path"), entry.get("lfs")
    if not isinstance(path, str) or not path.endswith(_ENDINGS) or not re.fullmatch(r"\w[\w .+/-]{0,200}", path):
        return None
    if ".." in path:
        return None
    digest = f"sha256:{large.get('oid')}" if isinstance(large, dict) else f"git:{entry.get('oid')}"
    known = re.fullmatch(r"sha256:[0-9a-f]{64}|git:[0-9a-f]{40}", digest)
    size = entry.get("size")
    return _Remote(repository, path, size if isinstance(size, int) else 0, digest if known else None)


def _download(file: _Remote, folder: Path, on_bytes: OnBytes) -> FetchedFile:
    """One file, whole or not at all; what a broken download left is gone on with, where the hub tells its hash."""
    where, target = _where(file.repository, file.path), folder / file.local
    unfinished = folder / f"{file.local}.part"
    begun = unfinished.stat().st_size if file.digest and unfinished.is_file() else 0
    begun = begun if begun < file.size else 0
    headers = {"Range": f"bytes={begun}-"} if begun else {}
    request = _request(f"datasets/{file.repository}/resolve/main/{quote(file.path)}", **headers)
    with _open(request, where) as answer:
        goes_on = answer.status == 206 and (answer.headers.get("Content-Range") or "").startswith(f"bytes {begun}-")
        if answer.status == 206 and not goes_on:
            unfinished.unlink(missing_ok=True)
            raise CaseFileError(where, None, "the hub sent another part than asked for; the same command starts anew")
        with unfinished.open("ab" if goes_on else "wb") as out:
            done = out.tell()
            total = done + answer.length if answer.length is not None else None
            for chunk in _chunks(answer, where):
                done += len(chunk)
                if done > MAX_BYTES:
                    raise CaseFileError(where, None, f"larger than {MAX_BYTES // 2**20} MB, which no such file is")
                out.write(chunk)
                on_bytes(file.local, done, total)
    if total is not None and done < total:
        raise CaseFileError(where, None, f"broken off: {total - done:,} bytes are missing; the same command goes on")
    sha256 = _checked(unfinished, file.digest, where)
    unfinished.replace(target)
    return FetchedFile(repository=file.repository, path=file.path, sha256=sha256, size=done)


def _chunks(answer: HTTPResponse, where: str) -> Iterator[bytes]:
    try:
        while chunk := answer.read1(_CHUNK):
            yield chunk
    except (OSError, HTTPException) as failure:
        problem = f"broken off ({failure or type(failure).__name__}); the same command goes on"
        raise CaseFileError(where, None, problem) from None


def _checked(file: Path, digest: str | None, where: str) -> str:
    """The SHA-256 of a download that has the hash the hub tells of it."""
    sha256, git = hashlib.sha256(), hashlib.sha1(usedforsecurity=False)
    git.update(b"blob %d\0" % file.stat().st_size)
    with file.open("rb") as opened:
        while chunk := opened.read(_CHUNK):
            sha256.update(chunk)
            git.update(chunk)
    if digest is not None and digest not in (f"sha256:{sha256.hexdigest()}", f"git:{git.hexdigest()}"):
        file.unlink()
        raise CaseFileError(where, None, "what came is not what the hub lists (its hash differs); try again")
    return sha256.hexdigest()
