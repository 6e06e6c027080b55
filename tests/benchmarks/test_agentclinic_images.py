"""Images end to end: what stands in the requests at the endpoint, and what is refused before a run."""

import json
import subprocess
import sys
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from simulator import Simulator

from openosce.cases import ImageStore, read_cases
from openosce.grading import Score
from openosce.runs import prepare, run_study, to_study
from openosce.runs.folder import RunReader

ROLES = ("doctor", "patient", "measurement", "grader")


def run(folder: Path, mode: str, doctor: str = "doctor-n0") -> list[dict[str, Any]]:
    """Run our image cases on an endpoint; the messages of every request that it was sent, by the model's name."""
    record = folder / "requests.jsonl"
    with Simulator(latency=1, record=record) as endpoint:
        models = {"doctor": f"sim/{doctor}", **{role: f"sim/any-model-{role}" for role in ROLES[1:]}}
        study = to_study(
            {
                "study": {
                    "benchmark": "agentclinic",
                    "cases": "starter-images",
                    "trials": 1,
                    "base_url": endpoint.base_url,
                },
                "roles": {role: {"model": name} for role, name in models.items()},
                "agentclinic": {"images": mode, "perception": True},
            }
        )
        run_study(prepare(study, folder / "run"), lambda total, todo: None, lambda trial: None)
        endpoint.counters()  # what is recorded is on disk by now
        return [json.loads(line)["request"] for line in record.read_text().splitlines()]


def images(message: dict[str, Any]) -> list[str]:
    parts = message["content"] if isinstance(message["content"], list) else []
    return [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]


def of_request(request: dict[str, Any]) -> list[str]:
    return [url for message in request["messages"] for url in images(message)]


def conversations(requests: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The doctor's requests of each case, told apart by its objective, the shortest first."""
    found: dict[str, list[dict[str, Any]]] = {}
    for request in requests:
        if request["model"].startswith("doctor"):
            first = request["messages"][1]["content"]
            text = first if isinstance(first, str) else first[0]["text"]
            found.setdefault(text, []).append(request)
    return [sorted(talk, key=lambda request: len(request["messages"])) for talk in found.values()]


def scores(folder: Path, metric: str) -> list[Score]:
    with RunReader(folder / "run") as reader:
        return [row.score for row in reader.scores(metric)]


def data_urls() -> set[str]:
    store = ImageStore("starter-images")
    return {store.load(image).data_url for case in read_cases("starter-images") for image in case.images}


def test_from_the_start_every_request_of_the_doctor_holds_the_image_of_its_case(tmp_path: Path):
    requests = run(tmp_path, "initial")
    talks = conversations(requests)
    shown = []
    for talk in talks:
        assert len(talk) > 5
        (of_case,) = {tuple(of_request(request)) for request in talk}  # the same one, once, in all of them
        shown += of_case
        assert all(images(request["messages"][1]) for request in talk)
    assert len(talks) == 3 and set(shown) == data_urls()
    assert [score.value for score in scores(tmp_path, "image_requests")] == [0, 0, 0]


def test_on_request_the_doctor_has_the_image_once_it_asked_and_keeps_it(tmp_path: Path):
    requests = run(tmp_path, "on_request")
    talks = conversations(requests)
    assert len(talks) == 3
    for talk in talks:
        held = [len(of_request(request)) for request in talk]
        assert held == [0, 0] + [1] * (len(talk) - 2)  # it asks in its second turn
        assert "REQUEST IMAGES" in [message["content"] for message in talk[2]["messages"]]
        for earlier, later in pairwise(talk):
            assert later["messages"][: len(earlier["messages"])] == earlier["messages"]
    assert {url for talk in talks for url in of_request(talk[-1])} == data_urls()
    assert [score.value for score in scores(tmp_path, "image_requests")] == [1, 1, 1]


@pytest.mark.parametrize("mode", ["initial", "on_request"])
def test_nobody_but_the_doctor_is_sent_an_image_or_what_it_shows(tmp_path: Path, mode: str):
    requests = run(tmp_path, mode)
    others = [request for request in requests if not request["model"].startswith("doctor")]
    assert {request["model"] for request in others} == {f"any-model-{role}" for role in ROLES[1:]}
    assert not any(of_request(request) for request in others)
    hidden = [image.shows for case in read_cases("starter-images") for image in case.images if image.shows]
    choices = [
        choice for case in read_cases("starter-images") for choice in case.choices if choice != case.diagnosis.name
    ]
    sent = json.dumps([request["messages"] for request in requests], ensure_ascii=False)
    assert hidden and choices
    assert not any(text in sent for text in (*hidden, *choices))


# --- refused before the run


def osce(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from openosce.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def refused(done: subprocess.CompletedProcess[str], folder: Path) -> str:
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    (line,) = done.stderr.splitlines()
    assert not folder.exists()
    return line


@pytest.mark.parametrize("mode", ["initial", "on_request"])
def test_a_model_that_reads_no_images_is_refused_in_one_line(tmp_path: Path, mode: str):
    blind = "openai/gpt-3.5-turbo"
    arguments = ("run", "agentclinic", "--cases", "starter-images", "--set", f'agentclinic.images="{mode}"')
    done = osce(*arguments, "--doctor", blind, "--out", tmp_path / "run")
    assert f"{blind} reads no images" in refused(done, tmp_path / "run")
    # Only the doctor is shown any.
    done = osce(*arguments, "--patient", blind, "--grader", blind, "--dry-run", "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr


def test_images_that_are_not_there_are_refused_in_one_line(tmp_path: Path):
    own = tmp_path / "cases"
    own.mkdir()
    for case in (resources.files("openosce.cases") / "starter_images").iterdir():
        if case.name.endswith(".yaml"):
            (own / case.name).write_bytes(case.read_bytes())
    arguments = ("run", "agentclinic", "--cases", own, "--set", 'agentclinic.images="initial"')
    line = refused(osce(*arguments, "--out", tmp_path / "run"), tmp_path / "run")
    assert "audiogram-image-01" in line and "audiogram-01.png" in line and "No such file" in line


def test_images_that_were_not_downloaded_are_refused_with_the_command_that_does_it(tmp_path: Path, shared: Path):
    cases = shared / "data" / "agentclinic" / "agentclinic_nejm.jsonl"
    done = osce(
        "run", "agentclinic", "--cases", cases, "--set", 'agentclinic.images="initial"', "--out", tmp_path / "run"
    )
    assert "osce cases fetch-images" in refused(done, tmp_path / "run")
