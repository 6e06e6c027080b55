"""A simulated chat-completions endpoint: what it says, how it fails, what it remembers, and a handle to start it.

`python perf/endpoint.py` runs it by hand; tests and benchmarks use `Simulator`, which needs the standard library only.
"""

from simulator.process import Simulator

__all__ = ["Simulator"]
