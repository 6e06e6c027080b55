"""The endpoint as a process of its own, for tests and benchmarks. Needs the standard library only."""

import http.client
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ENDPOINT = Path(__file__).parents[1] / "endpoint.py"


class Simulator:
    """A running endpoint, inside `with`.

    Args:
        latency: Mean milliseconds to a reply.
        faults: Rates by name, as in `--fault`.
        **options: Any other option of `perf/endpoint.py`, dashes as underscores: `questions=3`, `retry_after=0.05`.
    """

    def __init__(self, *, latency: float = 0, faults: Mapping[str, float] | None = None, **options: object) -> None:
        self._command = [sys.executable, str(ENDPOINT), "--latency", str(latency)]
        for name, value in options.items():
            self._command += [f"--{name.replace('_', '-')}", str(value)]
        if faults:
            self._command += ["--fault", *(f"{name}={rate}" for name, rate in faults.items())]
        self.base_url = ""
        """`http://127.0.0.1:PORT/v1`, once started."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.base_url = self._process.stdout.readline().strip()
        if not self.base_url:
            raise RuntimeError(f"the endpoint did not start (exit code {self.stop()})")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The process, for those who measure or kill it."""
        return self._process.pid

    def stop(self) -> int:
        """End the process; returns its exit code."""
        self._process.terminate()
        try:
            return self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
        finally:
            if self._process.stdout:
                self._process.stdout.close()

    def counters(self) -> dict[str, Any]:
        """What `/sim/counters` says: requests, replies by status, faults, tokens per model, ..."""
        return self._call("GET", "/sim/counters")

    def reset(self) -> None:
        """Back to the state of the start: counters, memory, fault rates, no outage."""
        self._call("POST", "/sim/reset")

    def outage(self, seconds: float) -> None:
        """Refuse everything from now on, for so long; 0 ends an outage."""
        self._call("POST", "/sim/outage", {"seconds": seconds})

    def set_faults(self, rates: Mapping[str, float]) -> None:
        """Change fault rates; those not named stay.

        Raises:
            ValueError: The endpoint does not know the fault, or the rates add up to more than 1.
        """
        self._call("POST", "/sim/fault", dict(rates))

    def _call(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        host = self.base_url.removeprefix("http://").removesuffix("/v1")
        connection = http.client.HTTPConnection(host, timeout=10)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            response = connection.getresponse()
            reply: dict[str, Any] = json.loads(response.read())
        finally:
            connection.close()
        if response.status != 200:
            raise ValueError(reply["error"]["message"])
        return reply
