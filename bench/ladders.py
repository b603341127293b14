"""Climbs every ladder and records the figures: times on a physical GPU, counts and predictions on the virtual one.

    python bench/ladders.py [--device physical|virtual] [--out FOLDER] [--rung NAME]… [--without-wrong] [PROBLEM…]

Writes ladders_<chip>.json (ladders_<chip>_virtual.json) as each problem is done, and prints a table for it. Problems
that stand in the file and are not asked for stay as they are, each with its date. `--rung` leaves out the others, such
as one thread over gigabytes; `--without-wrong` the wrong kernels, which the tests reject anyway.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from common import RESULTS, save

from gridstride.device.choice import device as choose
from gridstride.judge.find import find, problem_names
from gridstride.judge.ladder import climb

KEPT = (
    "rung",
    "verdict",
    "max_error",
    "time_ms",
    "spread_ms",
    "rounds",
    "predicted_ms",
    "speed_of_light",
    "limiter",
    "peers",
)


def climbed(name: str, device: Any, rungs: list[str], *, wrong: bool) -> dict[str, Any]:
    """One problem's ladder as it goes into the file."""
    start = time.monotonic()
    ladder = climb(find(name), device=device, rungs=rungs)
    results = [{key: result.json().get(key) for key in KEPT} for result in ladder]
    rejections = ladder.rejections() if wrong else ()
    rejected = [{"kernel": r.kernel, "expected": r.expected, "rejected": r.match is not None} for r in rejections]
    problem = ladder.problem
    flops, moved = problem.work(problem.timed)
    sizes = dict(problem.timed)
    seconds = round(time.monotonic() - start, 1)
    return {
        "problem": name,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "sizes": sizes,
        "flops": flops,
        "bytes": moved,
        "seconds": seconds,
        "rungs": results,
        "wrong": rejected,
    }


def table(entry: dict[str, Any]) -> str:
    """The rungs of one problem, a line each."""
    lines = [f"{entry['problem']}  {entry['sizes']}  ({entry['seconds']} s)"]
    for rung in entry["rungs"]:
        ms = rung["time_ms"] if rung["time_ms"] is not None else rung["predicted_ms"]
        peers = ", ".join(f"{ratio:.3f}x {peer}" for peer, ratio in (rung["peers"] or {}).items())
        rate = f"{entry['flops'] / ms / 1e9:8.2f} TFLOP/s {entry['bytes'] / ms / 1e9:6.2f} TB/s" if ms else ""
        lines.append(f"  {rung['rung']:22} {rung['verdict']:5} {ms or 0:10.4f} ms {rate}  {peers}")
    return "\n".join(lines)


def merged(path: Path, entry: dict[str, Any]) -> list[dict[str, Any]]:
    """The problems that the file at `path` holds, with this one in its place, or at the end."""
    held = json.loads(path.read_text())["problems"] if path.exists() else []
    by_name = {each["problem"]: each for each in held} | {entry["problem"]: entry}
    return list(by_name.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", default=problem_names())
    parser.add_argument("--device", choices=("physical", "virtual"))
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--rung", action="append", default=[], help="name or number; may be given several times")
    parser.add_argument("--without-wrong", action="store_true")
    words = parser.parse_args()
    device = choose(words.device)
    record = f"ladders_{device.chip}{'' if device.kind == 'physical' else '_virtual'}"
    entries = []
    for name in words.problems:
        entries.append(climbed(name, device, words.rung, wrong=not words.without_wrong))
        print(table(entries[-1]), flush=True)
        found = {"gpu": device.name, "problems": merged(words.out / f"{record}.json", entries[-1])}
        save(record, found, folder=words.out)
    passed = all(r["verdict"] == "pass" for e in entries for r in e["rungs"])
    return 0 if passed and all(w["rejected"] for e in entries for w in e["wrong"]) else 1


if __name__ == "__main__":
    sys.exit(main())
