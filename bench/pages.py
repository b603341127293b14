"""How soon the workbench's pages answer two users at once: with nothing else to do, and while runs go on.

    python bench/pages.py [--rounds N]

`gridstride up` as a process; two clients ask for the same pages one after another, without a pause. While runs go on
its queue holds more of two sessions' kernels than it can judge in that time. The worst answer is often the first one
of a page, for which a lesson's text is made into HTML.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from common import ROOT, Row, machine, publish

sys.path.insert(0, str(ROOT / "src"))
sys.path.insert(0, str(ROOT / "tests/workbench"))

import httpx
from served import up

from gridstride.course.content import day
from gridstride.course.learner.progress import LearnerProgress
from gridstride.workbench.jobs import Jobs

TARGET = 0.3  # seconds
PATHS = ("/", "/day/5", "/day/5/lab", "/day/23", "/ladder/matmul", "/ladders", "/history", "/glossary")
RUNS = 20
"""Of each session: more than are judged while the pages are asked for."""


def answers(rounds: int, runs: int) -> dict[str, list[float]]:
    """Seconds of each answer, by path."""
    taken: dict[str, list[float]] = {path: [] for path in PATHS}

    def read(url: str) -> None:
        with httpx.Client(base_url=url, timeout=30) as client:
            for _ in range(rounds):
                for path in PATHS:
                    began = time.perf_counter()
                    client.get(path).raise_for_status()
                    taken[path].append(time.perf_counter() - began)

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with LearnerProgress(folder / "progress.sqlite") as progress:
            for number, session in ((5, "a"), (6, "b")):
                for _ in range(runs):
                    Jobs(progress).add(session, "judge", number, day(number).solution.read_text())
        with up(folder, PYTHONPATH=str(ROOT / "src")) as (url, _), ThreadPoolExecutor(2) as users:
            list(users.map(read, [url, url]))
            with LearnerProgress(folder / "progress.sqlite") as progress:
                left = progress.read("SELECT count(*) FROM job WHERE ended IS NULL")[0][0]
                assert left or not runs, "the runs ended before the pages did"
    return taken


def _in_words(seconds: list[float]) -> str:
    return f"{1e3 * statistics.median(seconds):.0f} ms, at worst {1e3 * max(seconds):.0f} ms"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--rounds", type=int, default=12)
    rounds = words.parse_args().rounds
    started, idle, busy = machine(), answers(rounds, 0), answers(rounds, RUNS)
    rows = []
    for path in PATHS:
        worst, detail = max(busy[path]), {"busy_s": busy[path], "idle_s": idle[path]}
        figure = f"{_in_words(busy[path])} while runs go on; {_in_words(idle[path])} without"
        rows.append(Row(path, figure, f"< {1e3 * TARGET:g} ms", worst < TARGET, detail=detail))
    publish("pages", rows, started)


if __name__ == "__main__":
    main()
