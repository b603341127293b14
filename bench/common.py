"""What every benchmark needs: timing, processes of their own, the machine in words, results as JSON and as a table."""

from __future__ import annotations

import gc
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
RESULTS = BENCH / "results"
PEERS = ROOT / ".venv-bench" / "bin" / "python"
"""The Python of the peers' environment, which `make bench` makes: what they need and what we need do not mix."""
CORES = sorted(os.sched_getaffinity(0))
"""The cores this process may use, before any benchmark narrows them."""


class NotMeasured(Exception):
    """Something that could not be run, and why."""


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of each repetition, on the clock and on the processors (all threads of this process together)."""

    wall: tuple[float, ...]
    cpu: tuple[float, ...]

    def __add__(self, other: Times) -> Times:
        return Times(self.wall + other.wall, self.cpu + other.cpu)

    @property
    def median(self) -> float:
        return statistics.median(self.wall)

    @property
    def cpu_median(self) -> float:
        return statistics.median(self.cpu)


@dataclass(frozen=True, slots=True)
class Row:
    """One published figure. `met` is None where there is no target, or where nothing could be measured (`note`)."""

    name: str
    figure: str
    target: str = ""
    met: bool | None = None
    note: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


def time_calls(call: Callable[[], object], *, repeats: int, warm_up: int = 1) -> Times:
    """Runs `call` and times each run; the collector is off meanwhile."""
    for _ in range(warm_up):
        call()
    wall, cpu = [], []
    gc.collect()
    gc.disable()
    try:
        for _ in range(repeats):
            start, used = time.perf_counter(), time.process_time()
            call()
            wall.append(time.perf_counter() - start)
            cpu.append(time.process_time() - used)
    finally:
        gc.enable()
    return Times(tuple(wall), tuple(cpu))


def time_command(command: Sequence[str], *, repeats: int) -> Times:
    """Runs a command in fresh processes, its output thrown away; RuntimeError with what it said when it fails."""

    def run() -> None:
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        if done.returncode:
            raise RuntimeError(f"{shlex.join(command)}: {done.stderr.strip() or done.stdout.strip()}")

    return time_calls(run, repeats=repeats)


@contextmanager
def on_cores(count: int) -> Iterator[None]:
    """Keeps this thread, and those it starts meanwhile, on the first `count` cores."""
    os.sched_setaffinity(0, CORES[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, CORES)


def run_script(script: str, *words: object, python: Path | str = sys.executable, **environment: str) -> Any:
    """What a script in this folder prints as JSON, from a process of its own; NotMeasured when it fails."""
    if python == PEERS and not PEERS.exists():
        raise NotMeasured(f"{PEERS.relative_to(ROOT)} is not there: `make bench` makes it")
    command = [str(python), str(BENCH / script), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, cwd=ROOT)
    if done.returncode:
        reason = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise NotMeasured(f"{script}: {reason[-1]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def machine() -> dict[str, Any]:
    """The machine in words, with how busy it is: medians of a loaded machine are worth less."""
    return {
        "cpu": _cpu_model(),
        "cores": len(CORES),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in ("numpy", "llvmlite", "nvidia-cuda-nvrtc")},
        "load_average": os.getloadavg()[0],
    }


def need_gpu(script: str) -> None:
    """Ends a script that cannot measure anything here, with exit code 2."""
    import torch

    if not torch.cuda.is_available():
        print(f"error: {script} needs an NVIDIA GPU that PyTorch {torch.__version__} can use: there is none here.",
              file=sys.stderr)  # fmt: skip
        raise SystemExit(2)


def _cpu_model() -> str:
    fields: dict[str, str] = {}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    name = fields.get("model name") or fields.get("CPU part", platform.processor())
    return f"{name} (family {fields['cpu family']}, model {fields['model']})" if "cpu family" in fields else name


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def save(
    benchmark: str, found: Mapping[str, Any], *, started: Mapping[str, Any] | None = None, folder: Path = RESULTS
) -> Path:
    """Writes <folder>/<benchmark>.json: what was found, with machine, date and command."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{benchmark}.json"
    result = {
        "benchmark": benchmark,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join([Path(sys.executable).name, os.path.relpath(sys.argv[0], ROOT), *sys.argv[1:]]),
        "machine": {**(started or machine()), "load_average_at_end": os.getloadavg()[0]},
        **found,
    }
    path.write_text(json.dumps(result, indent=1) + "\n")
    return path


def publish(benchmark: str, rows: Sequence[Row], started: Mapping[str, Any]) -> Path:
    """Writes bench/results/<benchmark>.json and prints the table; `started` is `machine()` at the start."""
    path = save(benchmark, {"rows": [asdict(row) for row in rows]}, started=started)
    print(table(rows))
    print(f"\n{started['cpu']}, {started['cores']} cores, load {started['load_average']:.1f} at the start;", end=" ")
    print(f"all figures in {path.relative_to(ROOT)}")
    return path


def table(rows: Sequence[Row]) -> str:
    """Name, figure, target, met, one row a line; notes below their row."""
    lines = [("case", "measured", "target", "met")]
    lines += [(r.name, r.figure, r.target, {True: "yes", False: "NO", None: "-"}[r.met]) for r in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(4)]
    shown = ["  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    shown.insert(1, "-" * len(shown[0]))
    for number, row in reversed(list(enumerate(rows))):
        if row.note:
            shown.insert(number + 3, f"    {row.note}")
    return "\n".join(shown)
