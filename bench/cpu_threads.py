"""Threads chosen by measurement against every fixed choice, on a quiet machine and beside one busy process.

python bench/cpu_threads.py [seconds]: training steps of the default model, and eight sequences of a small one that
decode, each choice in a process of its own, all in turn, twice.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from common import CORES, Row, machine, publish, run_script

SECONDS, ROUNDS = 60.0, 2  # a training run looks at its threads again after 30
LEAST = 0.8  # of the best fixed choice
SPINS = {"GOMP_SPINCOUNT": "300000"}  # libgomp's own default, said so that it counts as chosen
SLEEPS = {"OMP_WAIT_POLICY": "passive"}


def choices() -> dict[str, dict[str, str]]:
    """Environments by name; the first one leaves everything to what is measured."""
    found: dict[str, dict[str, str]] = {"measured": {}}
    found["1 thread"] = SLEEPS | {"OMP_NUM_THREADS": "1"}
    count = str(len(CORES))
    found[f"{count} threads that spin"] = SPINS | {"OMP_NUM_THREADS": count}
    found[f"{count} threads that sleep"] = SLEEPS | {"OMP_NUM_THREADS": count}
    return found


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many processes that want a core each."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def rows(kind: str, seconds: float) -> Iterator[Row]:
    for others in (0, 1):
        rates: dict[str, list[float]] = {name: [] for name in choices()}
        for _ in range(ROUNDS):
            for name, environment in choices().items():
                with busy(others):
                    rates[name].append(run_script("parts/with_threads.py", kind, seconds, **environment))
                print(kind, others, name, f"{rates[name][-1]:.0f}", file=sys.stderr, flush=True)
        middle = {name: statistics.median(found) for name, found in rates.items()}
        measured = middle.pop("measured")
        best = max(middle, key=lambda name: middle[name])
        ratio = measured / middle[best]
        yield Row(
            name=f"{kind}, {'one busy process beside' if others else 'quiet'}",
            figure=f"{ratio:.2f} of the best fixed choice ({best}); {measured:.0f} tokens/s",
            target=f">= {LEAST}",
            met=ratio >= LEAST,
            detail={"tokens_per_second": rates, "ratios": {name: measured / each for name, each in middle.items()}},
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=float, nargs="?", default=SECONDS, help="of each choice (%(default)s)")
    seconds = parser.parse_args().seconds
    started = machine()
    publish("cpu_threads", [row for kind in ("train", "decode") for row in rows(kind, seconds)], started)


if __name__ == "__main__":
    main()
