"""A measurement agent that now and then tells a wrong number: does the doctor notice?

    python examples/roles/faulty_measurement.py run agentclinic-faulty --set agentclinic_faulty.error_rate=0.3 \
        --trials 1 --out runs/faulty

It is the command `osce` with one more benchmark. The transcript marks every number that was changed; nobody in the
conversation sees the mark.
"""

import hashlib
import random
import re
from dataclasses import replace
from pathlib import Path

from pydantic import Field

from openosce.benchmarks import BENCHMARKS, RoleKind
from openosce.benchmarks.agentclinic import BENCHMARK as AGENTCLINIC
from openosce.benchmarks.agentclinic.settings import AgentClinicSettings
from openosce.cases import measurement_part
from openosce.cli import main
from openosce.roles.measurement import MEASUREMENT, RecordMeasurement

CODE = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
READING = re.compile(r"(?<=: )\d+(?:\.\d+)?")


class FaultySettings(AgentClinicSettings):
    error_rate: float = Field(default=0.2, ge=0, le=1)
    """The share of answers with a number in them in which the first number is doubled."""


class FaultyMeasurement(RecordMeasurement):
    """The built-in agent, and a number doubled by chance; which ones hangs on the study's seed, case and trial."""

    def __init__(self, place):
        super().__init__(measurement_part(place.case))
        self._rate, self._chance = place.settings.error_rate, random.Random(f"{place.seed}|{MEASUREMENT}")
        self.changed = {}
        """By place in the transcript, what was changed."""

    async def speak(self, transcript):
        text = await super().speak(transcript)
        number = READING.search(text)
        if number is None or self._chance.random() >= self._rate:
            return text
        wrong = f"{2 * float(number[0]):g}"
        self.changed[len(transcript)] = f"[told {wrong}, the record says {number[0]}]"
        return f"{text[: number.start()]}{wrong}{text[number.end() :]}"


async def run_trial(case, cast, settings, arms):
    """AgentClinic's own trial; the marks are put in when it is over."""
    encounter, answers = await AGENTCLINIC.run_trial(case, cast, settings, arms)
    changed = cast.roles[MEASUREMENT].changed
    marked = (
        replace(message, text=f"{message.text}\n{changed[place]}") if place in changed else message
        for place, message in enumerate(encounter.transcript)
    )
    return replace(encounter, transcript=tuple(marked)), answers


BENCHMARK = replace(
    AGENTCLINIC,
    name="agentclinic-faulty",
    settings=FaultySettings,
    roles={
        **AGENTCLINIC.roles,
        MEASUREMENT: RoleKind("builtin/faulty", {"builtin/faulty": FaultyMeasurement}, modelled=None),
    },
    run_trial=run_trial,
    # A run must not go on with other rules than it began with.
    data=lambda settings: {
        **AGENTCLINIC.data(settings),
        "code": CODE,
    },
)

if __name__ == "__main__":
    BENCHMARKS[BENCHMARK.name] = BENCHMARK
    main()
