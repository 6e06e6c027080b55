"""Fetching MedQA-CS, from a hub of our own on this machine."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from typer.testing import CliRunner

from openosce.cases import fetch as module
from openosce.cases import read_cases
from openosce.cases.fetch import fetch, is_whole
from openosce.cases.fetched import RECORD, data_folder
from openosce.cli import app
from openosce.errors import CaseFileError, InputError, StudyError

STUDENT, EXAM = "bio-nlp-umass/MedQA-CS-Student", "bio-nlp-umass/MedQA-CS-Exam"
TOKEN = "hf_ourSecretToken"


def an_item(section, given, truth):
    item = {"unique_id": 1, "section": section, "case_id": 7, "conversation_turn_id": 1, "input": given}
    return item | {"ground_truth_output": truth, "prompt": {}, "output": {}}


ITEMS = [
    an_item("qa", {"opening": "Ann Day, a 30-year-old female, comes to the office.", "chat_history": "N/A"}, '"Why?"'),
    an_item("diagnosis", {"opening": "x"}, "Diagnosis #1: Gout\nHistory Finding(s):\nHot toe\n"),
]
FILES = {
    (STUDENT, "med-student.json"): json.dumps(ITEMS).encode(),
    (EXAM, "data/med-exam.json"): b"[]\n" + b" " * 200_000,
    (STUDENT, "README.md"): b"# not a case file",
}
LOCAL = {"MedQA-CS-Student.med-student.json", "MedQA-CS-Exam.data.med-exam.json"}


def git_hash(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


class Hub(BaseHTTPRequestHandler):
    """As much of the hub's interface as a fetch needs; `state` is what a test changes."""

    state: dict

    def do_GET(self):
        self.state["asked"].append((self.path, self.headers.get("Authorization"), self.headers.get("Range")))
        if self.state.get("only_with") and self.headers.get("Authorization") != f"Bearer {self.state['only_with']}":
            return self.answer(self.state.get("refusal", 401), b"")
        if self.path.startswith("/cdn/"):
            return self.file(self.path.removeprefix("/cdn/"))
        path = self.path.removeprefix("/api/datasets/").removeprefix("/datasets/")
        repository, _, rest = path.partition("/tree/main") if "/tree/" in path else path.partition("/resolve/main/")
        if repository in self.state.get("gone", ()):
            return self.answer(404, b"")
        if self.path.startswith("/api/"):
            return self.answer(200, self.listing(repository))
        if "redirect" in self.state:
            return self.answer(302, b"", Location=self.state["redirect"] + f"/cdn/{repository}//{rest}")
        return self.file(f"{repository}//{rest}")

    def listing(self, repository):
        if "listing" in self.state:
            return self.state["listing"]
        entries = [{"type": "directory", "path": "data", "oid": "0" * 40, "size": 0}]
        for (name, path), data in self.state["files"].items():
            if name == repository:
                entry = {"type": "file", "path": path, "size": len(data), "oid": git_hash(data)}
                if path.startswith("data/"):
                    entry |= {"oid": "1" * 40, "lfs": {"oid": hashlib.sha256(data).hexdigest(), "size": len(data)}}
                entries.append(entry)
        return json.dumps(entries).encode()

    def file(self, name):
        repository, _, path = name.partition("//")
        data = self.state["files"][repository, path]
        data = self.state.get("sent", {}).get(path, data)
        start = int((self.headers.get("Range") or "bytes=0-")[6:-1])
        headers = {"Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"} if start else {}
        cut = self.state.get("cut", {}).pop(path, None)
        self.answer(206 if start else 200, data[start:], cut, **headers)

    def answer(self, code, body, cut=None, **headers):
        self.send_response(code)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[:cut])

    def log_message(self, format, *args):
        pass


@pytest.fixture
def start():
    """Start hubs."""
    running = []

    def one():
        kind = type("OwnHub", (Hub,), {"state": {"asked": [], "files": dict(FILES)}})
        http = ThreadingHTTPServer(("127.0.0.1", 0), kind)
        http.daemon_threads = False
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        running.append((http, thread))
        kind.state["address"] = f"http://127.0.0.1:{http.server_address[1]}"
        return kind.state

    yield one
    for http, thread in running:
        http.shutdown()
        thread.join()
        http.server_close()


@pytest.fixture
def hub(start, monkeypatch, tmp_path):
    state = start()
    monkeypatch.setenv("HF_ENDPOINT", state["address"])
    monkeypatch.setenv("OPENOSCE_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    return state


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "data" / "medqa-cs"


def names(folder):
    return {path.name for path in folder.iterdir()}


def downloads(hub):
    return [path for path, *_ in hub["asked"] if "/resolve/" in path]


def test_the_data_files_are_fetched_with_their_hashes_beside_them(hub, folder):
    record = fetch("medqa-cs", folder)
    assert names(folder) == LOCAL | {RECORD}
    data = FILES[STUDENT, "med-student.json"]
    assert (folder / "MedQA-CS-Student.med-student.json").read_bytes() == data
    noted = json.loads((folder / RECORD).read_text())
    assert noted["files"]["MedQA-CS-Student.med-student.json"] == {
        "repository": STUDENT,
        "path": "med-student.json",
        "sha256": hashlib.sha256(data).hexdigest(),
        "size": len(data),
    }
    assert noted["is_complete"] and record.is_complete
    assert "CC BY-NC 4.0" in noted["licence"]


def test_a_fetched_set_is_found_by_its_name(hub, folder):
    hub["files"].pop((EXAM, "data/med-exam.json"))
    hub["files"][EXAM, "med-exam.json"] = json.dumps([ITEMS[0] | {"case_id": 7}]).encode()
    fetch("medqa-cs", folder)
    assert [case.id for case in read_cases("medqa-cs")] == ["medqa-cs-07"]
    assert [case.id for case in read_cases("medqa_cs")] == ["medqa-cs-07"]


def test_a_set_that_is_not_fetched_says_how_it_is(hub):
    with pytest.raises(CaseFileError, match="medqa-cs: not fetched yet; `osce cases fetch medqa-cs` does it"):
        read_cases("medqa-cs")


def test_a_file_that_was_changed_is_refused_on_reading_and_on_fetching(hub, folder):
    fetch("medqa-cs", folder)
    with (folder / "MedQA-CS-Student.med-student.json").open("a") as file:
        file.write(" ")
    for use in (
        lambda: read_cases("medqa-cs"),
        lambda: is_whole("medqa-cs", folder),
        lambda: fetch("medqa-cs", folder),
    ):
        with pytest.raises(CaseFileError, match=r"med-student\.json: changed since it was fetched \(sha256 differs\)"):
            use()


def test_a_file_that_was_deleted_is_brought_back_and_the_others_are_left(hub, folder):
    fetch("medqa-cs", folder)
    (folder / "MedQA-CS-Student.med-student.json").unlink()
    with pytest.raises(CaseFileError, match="brings it back"):
        read_cases("medqa-cs")
    assert not is_whole("medqa-cs", folder)
    hub["asked"].clear()
    fetch("medqa-cs", folder)
    assert downloads(hub) == [f"/datasets/{STUDENT}/resolve/main/med-student.json"]
    assert is_whole("medqa-cs", folder)


def test_a_download_that_broke_off_goes_on_where_it_was(hub, folder):
    hub["cut"] = {"data/med-exam.json": 70_000}
    with pytest.raises(CaseFileError, match="the same command goes on"):
        fetch("medqa-cs", folder)
    with pytest.raises(CaseFileError, match="not wholly fetched"):
        read_cases("medqa-cs")
    fetch("medqa-cs", folder)
    assert [r for path, _, r in hub["asked"] if "med-exam.json" in path] == [None, "bytes=70000-"]
    assert (folder / "MedQA-CS-Exam.data.med-exam.json").read_bytes() == FILES[EXAM, "data/med-exam.json"]
    assert names(folder) == LOCAL | {RECORD}


@pytest.mark.parametrize("path", ["med-student.json", "data/med-exam.json"])
def test_bytes_that_are_not_those_listed_are_refused_and_not_kept(hub, folder, path):
    hub["sent"] = {path: b"[1]"}
    with pytest.raises(CaseFileError, match="what came is not what the hub lists"):
        fetch("medqa-cs", folder)
    assert not [name for name in names(folder) if path.rpartition("/")[2] in name]


def test_a_file_that_is_too_large_is_stopped(hub, folder, monkeypatch):
    monkeypatch.setattr(module, "MAX_BYTES", 1000)
    with pytest.raises(CaseFileError, match="larger than 0 MB"):
        fetch("medqa-cs", folder)


@pytest.mark.parametrize(
    ("listing", "problem"),
    [
        (b"", "expected the list of its files as JSON"),
        (b"<html>", "expected the list of its files as JSON"),
        (b'{"error": "x"}', "expected the list of its files as JSON"),
        (b"[" * 100_000, "expected the list of its files as JSON"),
        (b"[]", "its files: none"),
        (b'[{"type": "file", "path": "train.parquet"}, 3]', "its files: 'train.parquet'"),
        (b'[{"type": "file", "path": "../../home/a.json"}]', "its files: '../../home/a.json'"),
        (b'[{"type": "file", "path": "a/../../b.json"}]', "expected 1 to 100 files"),
        (b'[{"type": "file", "path": "/etc/a.json"}]', "expected 1 to 100 files"),
        (b'[{"type": "file", "path": 7}]', "expected 1 to 100 files"),
    ],
)
def test_a_listing_that_is_none_or_leads_elsewhere_is_refused(hub, folder, listing, problem):
    hub["listing"] = listing
    with pytest.raises(CaseFileError, match=problem) as caught:
        fetch("medqa-cs", folder)
    assert "\n" not in str(caught.value)
    assert not folder.exists()


def test_a_hub_that_is_not_there_is_a_line(hub, folder, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(CaseFileError, match=r"^127\.0\.0\.1/datasets/bio-nlp-umass/MedQA-CS-Student: no answer"):
        fetch("medqa-cs", folder)


def test_a_data_set_that_is_gone_is_a_line(hub, folder):
    hub["gone"] = {EXAM}
    with pytest.raises(CaseFileError, match="MedQA-CS-Exam: the hub answered 404, no such data set"):
        fetch("medqa-cs", folder)


@pytest.mark.parametrize("code", [401, 403])
def test_a_gated_data_set_asks_for_a_token_which_no_message_shows(hub, folder, monkeypatch, code):
    hub |= {"only_with": "another", "refusal": code}
    with pytest.raises(CaseFileError, match=f"{code}.*put a token of yours into the environment as HF_TOKEN"):
        fetch("medqa-cs", folder)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with pytest.raises(CaseFileError, match="the token in HF_TOKEN has no access") as caught:
        fetch("medqa-cs", folder)
    assert TOKEN not in str(caught.value)


def test_the_token_goes_to_the_hub_and_not_where_it_redirects_to(hub, folder, monkeypatch, start):
    elsewhere = start()
    hub |= {"only_with": TOKEN, "redirect": elsewhere["address"]}
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    fetch("medqa-cs", folder)
    assert {token for _, token, _ in hub["asked"]} == {f"Bearer {TOKEN}"}
    assert [token for _, token, _ in elsewhere["asked"]] == [None, None]
    assert not [path for path in folder.iterdir() if TOKEN.encode() in path.read_bytes()]


@pytest.mark.parametrize("token", ["two words", "line\nbreak", "é"])
def test_a_token_that_is_none_is_refused_unseen(hub, folder, monkeypatch, token):
    monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(StudyError, match="HF_TOKEN: holds a blank") as caught:
        fetch("medqa-cs", folder)
    assert token not in str(caught.value)


@pytest.mark.parametrize(
    "endpoint", ["ftp://a.b", "huggingface.co", "https://user:password@a.b", "http://a.b:port", "https://a.b?x=1"]
)
def test_an_endpoint_that_is_none_is_refused_unseen(hub, folder, monkeypatch, endpoint):
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    with pytest.raises(StudyError, match="HF_ENDPOINT: expected") as caught:
        fetch("medqa-cs", folder)
    assert endpoint not in str(caught.value)


def test_a_token_is_not_sent_in_the_clear(hub, folder, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.invalid")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with pytest.raises(StudyError, match="no https address"):
        fetch("medqa-cs", folder)


def test_a_broken_record_is_a_line(hub, folder):
    fetch("medqa-cs", folder)
    for text in ("", "[]", '{"name": 1}', "{" * 10):
        (folder / RECORD).write_text(text)
        with pytest.raises(CaseFileError, match="no record of a fetch"):
            read_cases("medqa-cs")


def test_the_default_folder_lies_in_the_users_cache(monkeypatch, tmp_path):
    for name in ("OPENOSCE_DATA", "OPENOSCE_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_folder() == tmp_path / "openosce" / "data"
    monkeypatch.setenv("OPENOSCE_CACHE", str(tmp_path / "own"))
    assert data_folder() == tmp_path / "own" / "data"
    monkeypatch.setenv("OPENOSCE_DATA", str(tmp_path / "sets"))
    assert data_folder() == tmp_path / "sets"


def invoke(*arguments, answer=None):
    return CliRunner().invoke(app, ["cases", "fetch", *map(str, arguments)], input=answer)


@pytest.mark.parametrize("answer", ["n\n", "\n", None])
def test_without_acceptance_nothing_is_asked_for_and_nothing_written(hub, folder, answer):
    result = invoke("medqa-cs", answer=answer)
    assert isinstance(result.exception, InputError)
    assert "the licence was not accepted" in str(result.exception)
    assert "CC BY-NC 4.0" in result.output
    assert hub["asked"] == []
    assert not folder.exists()


@pytest.mark.parametrize(("flags", "answer"), [(["--accept-license"], None), ([], "y\n")])
def test_the_command_fetches_once_accepted_and_then_finds_the_set_there(hub, folder, flags, answer):
    result = invoke("medqa-cs", *flags, answer=answer)
    assert result.exit_code == 0, result.output
    assert "medqa-cs: 2 files" in result.output
    hub["asked"].clear()
    again = invoke("medqa-cs")
    assert again.exit_code == 0
    assert "already in" in again.output
    assert hub["asked"] == []


def test_a_folder_of_ones_own_can_be_given(hub, tmp_path):
    result = invoke("medqa-cs", "--to", tmp_path / "mine", "--accept-license")
    assert result.exit_code == 0
    assert names(tmp_path / "mine") == LOCAL | {RECORD}


def test_another_name_is_refused(hub):
    result = invoke("medqa")
    assert isinstance(result.exception, StudyError)
    assert "unknown set 'medqa'" in str(result.exception)
