"""Damaged programs by the thousand: nothing may crash, hang or raise anything but our own errors.

    python bench/fuzz.py [minutes] [seed]

Programs run in a process of their own, which is started again when it dies; what it died of, or what it raised that is
none of our errors, is printed with its program and kept in bench/results/fuzz.json.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [
    str(ROOT / "src"),
    str(ROOT / "tests/virtual/cases"),
    str(ROOT / "tests/virtual/models"),
    str(ROOT / "tests/virtual/forms"),
    str(ROOT / "bench"),
]

RESULT = ROOT / "bench" / "results" / "fuzz.json"
BATCH = 200
LIMIT = 1.0
"""Seconds a launch may take."""


def work(seed: int, count: int) -> None:
    """Runs programs and prints one line of JSON for each that did what it must not, at last the counts."""
    import mutants

    import gridstride as gs

    device, counts = gs.VirtualGPU(time_limit=LIMIT), Counter[str]()
    for number in range(seed, seed + count):
        print(json.dumps({"at": number}), flush=True)
        start = time.monotonic()
        try:
            what = mutants.outcome(mutants.mutant(random.Random(number)), device, observe=number % 4 == 0)
        except Exception as error:
            what = "wrong"
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(where.filename).name}:{where.lineno} {where.name}"
            print(json.dumps({"wrong": number, "error": f"{type(error).__name__}: {error}"[:300], "place": place}))
        if time.monotonic() - start > 10 * LIMIT:
            print(json.dumps({"wrong": number, "error": "took long", "place": f"{time.monotonic() - start:.1f} s"}))
        counts[what] += 1
    print(json.dumps({"counts": counts}), flush=True)


def batch(seed: int) -> tuple[Counter[str], list[dict[str, object]]]:
    """One process's share: outcomes, and what was wrong."""
    command = [sys.executable, __file__, "0", str(seed), "--batch", str(BATCH)]
    environment = os.environ | {"GRIDSTRIDE_CACHE": os.environ.get("GRIDSTRIDE_CACHE", "")}
    code: int | str
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment, check=False)
        output, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired as error:
        output, code = (error.stdout or b"").decode(), "hung"
    counts, wrong, last = Counter[str](), [], seed
    for line in output.splitlines():
        record = json.loads(line)
        last = record.get("at", last)
        counts.update(record.get("counts", {}))
        wrong += [record] if "wrong" in record else []
    if code != 0:
        wrong.append({"wrong": last, "error": f"the process ended with {code}", "place": done.stderr[-300:]})
        counts["crashed"] += 1
    return counts, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("minutes", type=float, nargs="?", default=10.0)
    parser.add_argument("seed", type=int, nargs="?", default=0, help="of the first program")
    parser.add_argument("--batch", type=int, help=argparse.SUPPRESS)  # of this process alone, which prints JSON
    options = parser.parse_args()
    if options.batch:
        work(options.seed, options.batch)
        return
    minutes, seed, first = options.minutes, options.seed, options.seed
    counts, wrong, end = Counter[str](), list[dict[str, object]](), time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        new, found = batch(seed)
        counts, wrong, seed = counts + new, wrong + found, seed + BATCH
        print(f"{seed - first} programs: {dict(counts)}", file=sys.stderr)
        for record in found:
            print(json.dumps(record), flush=True)
    record = {"programs": seed - first, "first_seed": first, "minutes": minutes, "outcomes": counts, "wrong": wrong}
    RESULT.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
