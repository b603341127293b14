"""What the course's programs take on a physical GPU, where lessons have modelled times: see TIMED and programs().

    python bench/course_programs.py [DAY…]     # day013, say; without, all of them

Needs a GPU and nvcc, and writes bench/results/course_programs_<gpu>.json; days that are not asked for stay as they are.

The drivers in bench/course_programs/ include a day's own worked program or solution and time it by the host's clock,
or, where a kernel alone is meant, by events. Day 14's programs are run as they are: they print their times themselves.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import BENCH, RESULTS, ROOT, machine, save

DRIVERS = BENCH / "course_programs"
COURSE = ROOT / "course"
ROUNDS = 9
MOST = 4096
"""Rounds for a pixel of day 17's second build; the solution's own are 64."""


@dataclass(frozen=True, slots=True)
class Program:
    """A driver, the folder of the day whose files it includes, what nvcc is told besides, and the runs of it."""

    name: str
    driver: str
    day: str
    options: tuple[str, ...] = ()
    runs: tuple[tuple[str, ...], ...] = ((),)


OVERLAPPED = "overlapped.cu"
PIECES = (("1", "1"), ("2", "2"), ("4", "2"), ("4", "1"), ("16", "2"), ("64", "2"))
STRETCHED = tuple((way, "131072") for way in ("asked", "kept", "one", "two", "three"))
PASSED_THROUGH = tuple(
    ("4194304", *each)
    for each in (("1", "1"), ("9", "1"), ("18", "2"), ("27", "3"), ("4", "3"), ("16", "3"), ("64", "3"), ("256", "3"))
)
FILMED = tuple(("8", *each) for each in (("1", "2"), ("2", "2"), ("3", "2"), ("3", "5"), ("3", "8")))
LINKED = ("-rdc=true", "-lcudadevrt")
TIMED = {  # day 14: the runs that its lesson shows
    "right": ("right.cu", ("1048576", "20")),
    "right_four": ("right.cu", ("4194304", "20")),
    "drained": ("timing.cu", ("drained", "1048576", "1")),
    "drained_ten": ("timing.cu", ("drained", "1048576", "10")),
    "early": ("timing.cu", ("early", "1048576", "20")),
    "beside": ("timing.cu", ("beside", "1048576", "20")),
    "beside_four": ("timing.cu", ("beside", "4194304", "20")),
    "copies": ("timing.cu", ("copies", "1048576", "20")),
}


def programs(folder: Path) -> list[Program]:
    """Every driver's build; `folder` gets the solution of day 17 with more rounds."""
    solution = (COURSE / "day017/solution/mandelbrot.cu").read_text()
    more = folder / "more_rounds.cu"
    more.write_text(solution.replace("MOST = 64;", f"MOST = {MOST};"))
    if more.read_text() == solution:
        raise SystemExit("error: day 17's solution no longer says MOST = 64")
    return [
        Program("day012", "day012.cu", "day012/worked"),
        Program("day013", OVERLAPPED, "day013/worked", named("pieces.cu", "pinned"), PIECES),
        Program("day013", OVERLAPPED, "day013/worked", named("pageable.cu", "pageable"), PIECES[:3]),
        Program("day017", "day017.cu", "day017/solution", (*LINKED, '-DPROGRAM="mandelbrot.cu"')),
        Program("day017", "day017.cu", "day017/solution", (*LINKED, f'-DPROGRAM="{more}"')),
        Program("day018", "day018.cu", "day018/worked"),
        Program("day019", OVERLAPPED, "day019/worked", named("stretch.cu", "us"), STRETCHED),
        Program("day030", OVERLAPPED, "day030/worked", named("large.cu", "us"), PASSED_THROUGH),
        Program("day034", "day034.cu", "day034/worked"),
        Program("day034", "day034_settle.cu", "day034/worked", LINKED),
        Program("day037", "day037.cu", "day037/worked"),
        Program("day040", OVERLAPPED, "day040/worked", named("reel.cu", "us"), FILMED),
    ]


def named(source: str, name: str) -> tuple[str, ...]:
    return f'-DPROGRAM="{source}"', f'-DNAME="{name}"'


def compile_cu(source: Path, target: Path, *options: str) -> Path:
    subprocess.run(["nvcc", "-O2", "-std=c++17", "-arch=native", *options, "-o", str(target), str(source)], check=True)
    return target


def built(number: int, program: Program, folder: Path) -> Path:
    """The program that nvcc makes of a driver."""
    inside = ("-I", str(DRIVERS), "-I", str(COURSE / program.day))
    return compile_cu(DRIVERS / program.driver, folder / f"program_{number}", *inside, *program.options)


def said(program: Path, words: tuple[str, ...]) -> list[str]:
    """The lines that a run prints."""
    done = subprocess.run([str(program), *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"error: {program.name} {' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout.splitlines()


def put(found: dict[str, Any], path: str, value: float) -> None:
    """Sets found[a][b][c] for the path a.b.c."""
    *folders, last = path.split(".")
    for each in folders:
        found = found.setdefault(each, {})
    found[last] = value


def timed(folder: Path) -> dict[str, float]:
    """Day 14: microseconds for each launch that the lesson's programs print, the median of ROUNDS runs."""
    made = {
        source: compile_cu(COURSE / "day014/worked" / source, folder / Path(source).stem)
        for source in ("right.cu", "timing.cu")
    }
    return {
        name: statistics.median(float(said(made[source], words)[0].split()[0]) for _ in range(ROUNDS))
        for name, (source, words) in TIMED.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("days", nargs="*", metavar="DAY", help="day013, say; all unless given")
    asked = parser.parse_args().days
    if shutil.which("nvcc") is None:
        print("error: course_programs.py needs nvcc and an NVIDIA GPU", file=sys.stderr)
        raise SystemExit(2)
    started = machine()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        every = [each for each in programs(folder) if not asked or each.name in asked]
        with ThreadPoolExecutor() as pool:
            made = list(pool.map(built, range(len(every)), every, [folder] * len(every)))
        for program, binary in zip(every, made, strict=True):
            for words in program.runs:
                for line in said(binary, words):
                    mark, path, value = line.split()
                    assert mark == "figure", line
                    put(found.setdefault(program.name, {}), path, float(value))
        if not asked or "day014" in asked:
            found["day014"] = {"launch_us": timed(folder)}
    gpu = gpu_name()
    chip = gpu.split(",")[0].split()[1].lower()  # "NVIDIA H200, 580.159", "NVIDIA H100 80GB HBM3, 580.159"
    name = f"course_programs_{chip}"
    save(name, {"gpu": gpu, "unit": "microseconds unless named", **held(name), **found}, started=started)
    for day, figures in sorted(found.items()):
        print(day, figures)


def held(name: str) -> dict[str, Any]:
    """The days that the record has."""
    path = RESULTS / f"{name}.json"
    record = json.loads(path.read_text()) if path.exists() else {}
    return {key: value for key, value in record.items() if key.startswith("day")}


def gpu_name() -> str:
    done = subprocess.run(
        ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


if __name__ == "__main__":
    main()
