"""How long a run of the starter cases takes with the built-in roles: `make perf`.

No network, no model: this is what the engine, the rules and the run folder cost.
"""

import tempfile
import time
from pathlib import Path

from openosce.runs import planned, prepare, run_study, to_study

TRIALS = 20


def main() -> None:
    study = to_study({"study": {"benchmark": "craft-md", "trials": TRIALS}})
    with tempfile.TemporaryDirectory() as folder:
        prepared = prepare(study, Path(folder) / "run")
        conversations = len(planned(prepared))
        started, cpu = time.perf_counter(), time.process_time()
        run_study(prepared, lambda total, todo: None, lambda trial: None)
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    print(f"{conversations} conversations with 9 arms each, built-in roles")
    print(f"{1000 * seconds / conversations:.1f} ms a conversation, {1000 * cpu / conversations:.1f} ms of CPU")


if __name__ == "__main__":
    main()
