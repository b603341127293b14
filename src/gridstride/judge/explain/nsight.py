"""What Nsight Compute measures of the same kernel on a physical GPU, where `ncu` is installed and allowed to.

A small process of its own (`nsight_runner`) launches the kernel once at the observed and once at the timed size; ncu
profiles both. Everything that comes from here is labelled as measured, everything else as counted.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MEASURED = "measured by Nsight Compute"
_TIME_LIMIT = 120.0  # seconds for ncu, which replays the kernel some forty times
_PLACES = ("/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/ncu")
_PERCENT = "avg.pct_of_peak_sustained_elapsed"
RESOURCES = {
    f"smsp__issue_active.{_PERCENT}": "issue",
    f"l1tex__data_pipe_lsu_wavefronts.{_PERCENT}": "L1 and shared",
    f"lts__t_sectors.{_PERCENT}": "L2",
    f"dram__throughput.{_PERCENT}": "DRAM",
    f"sm__inst_executed_pipe_fma.{_PERCENT}": "FP32",
    f"sm__inst_executed_pipe_alu.{_PERCENT}": "integer",
    f"sm__inst_executed_pipe_fp64.{_PERCENT}": "FP64",
    f"sm__inst_executed_pipe_fp16.{_PERCENT}": "FP16",
    f"sm__inst_executed_pipe_xu.{_PERCENT}": "special functions",
    f"sm__inst_executed_pipe_tensor.{_PERCENT}": "tensor",
}
"""Busy shares of ncu, by the names that the virtual GPU's parts have; shared memory and L1 are one pipe to it."""
COUNTS = {
    "smsp__inst_executed.sum": "instructions (machine code)",
    **{
        f"l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum": f"global_{way}_{what}"
        for what in ("requests", "sectors")
        for op, way in (("ld", "load"), ("st", "store"), ("atom", "atomic"), ("red", "reduction"))
    },
    **{
        f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum": f"{way}_conflicts"
        for op, way in (("ld", "load"), ("st", "store"), ("atom", "atomic"))
    },
    "gpu__time_duration.sum": "nanoseconds",
    "launch__registers_per_thread": "registers",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "achieved occupancy in %",
}
_UNKNOWN = re.compile(r"Failed to find metric (?:regex:)?(\S+)|Unknown metric (?:name )?'?([\w.]+)")
_LIMITER_FROM = 60.0  # per cent from which ncu itself calls a unit the bottleneck


@dataclass(frozen=True, slots=True)
class Measured:
    """What ncu said: busy shares (0 to 1) at the timed size, counts at the observed one, figures by source line.

    `problem` says in a sentence why there is nothing, and then all else is empty.
    """

    shares: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)
    lines: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    problem: str = ""

    @property
    def limiter(self) -> str:
        """The busiest unit; waiting, where none is busy for most of the time."""
        name = max(self.shares, key=lambda metric: self.shares[metric], default="")
        return name if name and self.shares[name] >= _LIMITER_FROM / 100 else "latency" if name else ""

    def json(self) -> dict[str, Any]:
        return {
            "source": MEASURED, "problem": self.problem or None, "limiter": self.limiter or None,
            "speed_of_light": dict(self.shares), "counters": dict(self.counts),
            "lines": [{"line": number, **figures} for number, figures in sorted(self.lines.items())],
        }  # fmt: skip


def program() -> str | None:
    """The ncu on this machine; None where there is none."""
    return shutil.which("ncu") or next((path for path in _PLACES if os.access(path, os.X_OK)), None)


def measure(kernel: str, problem: str, seed: int) -> Measured:
    """Profile the kernel file on the physical GPU; never raises for what ncu does."""
    ncu = program()
    if ncu is None:
        return Measured(problem="ncu is not installed here: the counts are those of the virtual GPU")
    with tempfile.TemporaryDirectory(prefix="gridstride-ncu-") as folder:
        report = Path(folder) / "profile"
        runner = [sys.executable, "-m", "gridstride.judge.explain.nsight_runner", kernel, problem, str(seed)]
        failed = _profile(ncu, report, runner)
        if failed:
            return Measured(problem=failed)
        raw = _page(ncu, report, "raw", "--print-units", "base")
        source = _page(ncu, report, "source", "--print-source", "cuda,sass")
    return parse(raw, source, kernel)


def parse(raw: str, source: str, kernel: str) -> Measured:
    """From the CSV of ncu's raw page (two launches: observed, timed) and of its source page, of a kernel's file."""
    launches = list(_rows(raw))
    if len(launches) < 2:
        return Measured(
            problem=f"ncu profiled {len(launches)} launches where two were made: it may be too old for this GPU"
        )
    observed, timed = launches[0], launches[-1]
    shares = {
        name: share / 100 for metric, name in RESOURCES.items() if (share := _number(timed.get(metric))) is not None
    }
    counts = {name: count for metric, name in COUNTS.items() if (count := _number(observed.get(metric))) is not None}
    if not shares:
        return Measured(problem="ncu knows none of the metrics that are asked of it on this GPU: it may be too old")
    return Measured(shares, counts, lines_of(source, kernel))


def lines_of(source: str, file: str) -> dict[int, dict[str, float]]:
    """Figures by line number of the file, out of ncu's source page: counts of the first launch (observed), and the
    share of the samples that the last one (timed) spent on the line.
    """
    tables = [table for name, table in _tables(source) if Path(name).name == Path(file).name]
    if not tables:
        return {}
    first, last = tables[0], tables[-1]
    samples = {number: figures.get(_SAMPLES, 0.0) for number, figures in last.items()}
    total = sum(samples.values()) or 1.0
    by_line = {}
    for number, figures in first.items():
        counts = {name: figures[column] for column, name in _COLUMNS.items() if column in figures}
        by_line[number] = {"sample_share": samples.get(number, 0.0) / total, **counts}
    return dict(sorted(by_line.items()))


_SAMPLES = "# Samples"
_COLUMNS = {
    "Instructions Executed": "instructions", "Thread Instructions Executed": "active_lanes",
    "Divergent Branches": "divergent_branches", "L2 Theoretical Sectors Global": "global_sectors",
    "L2 Theoretical Sectors Global Ideal": "global_ideal_sectors", "L1 Wavefronts Shared": "shared_wavefronts",
    "L1 Wavefronts Shared Ideal": "shared_ideal_wavefronts",
}  # fmt: skip
_KEYS = ("Line No", "Source")


def _tables(source: str) -> Iterator[tuple[str, dict[int, dict[str, float]]]]:
    """(file, figures by line) of every table on the page. Quotes inside a source line are not doubled there, so the
    columns are told apart from the right.
    """
    file = ""
    head: list[str] = []
    table: dict[int, dict[str, float]] = {}
    for text in source.splitlines():
        cells = text.strip()[1:-1].split('","')
        if cells[0] in ("File Path", "File Name") and len(cells) == 2:
            if table:
                yield file, table
            file, head, table = cells[1], [], {}
        elif tuple(cells[:2]) == _KEYS:
            head = cells[len(_KEYS) :]
        elif head and cells[0].isdigit() and len(cells) >= len(head) + len(_KEYS):
            named_cells = zip(head, cells[-len(head) :], strict=True)
            table[int(cells[0])] = {name: n for name, cell in named_cells if (n := _number(cell)) is not None}
    if table:
        yield file, table


def trouble(output: str) -> str:
    """Why ncu gave nothing, out of what it printed, with the way out."""
    if "ERR_NVGPUCTRPERM" in output:
        return (
            "ncu is here but may not read the GPU's counters (ERR_NVGPUCTRPERM): run as root, or let the driver allow "
            "it (options nvidia NVreg_RestrictProfilingToAdminUsers=0). The counts are those of the virtual GPU"
        )
    errors = [line.removeprefix("==ERROR==").strip() for line in output.splitlines() if line.startswith("==ERROR==")]
    first = errors[0].rstrip(".") if errors else "it said nothing of use"
    return f"ncu could not profile the kernel: {first}. The counts are those of the virtual GPU"


def _profile(ncu: str, report: Path, runner: Sequence[str]) -> str:
    """Run ncu, leaving out metrics that it does not know; what went wrong, or nothing."""
    metrics = [*RESOURCES, *COUNTS]
    for _ in range(4):
        command = [ncu, "--clock-control", "none", "--force-overwrite", "--import-source", "yes", "-o", str(report)]
        command += ["--section", "SourceCounters", "--metrics", ",".join(metrics), *runner]
        output = _run(command)
        if report.with_suffix(".ncu-rep").exists():
            return ""
        unknown = {name for match in _UNKNOWN.findall(output) for name in match if name}
        fewer = [metric for metric in metrics if not any(metric.startswith(prefix) for prefix in unknown)]
        if not unknown or len(fewer) == len(metrics):
            return trouble(output)
        metrics = fewer
    return trouble("")


def _page(ncu: str, report: Path, page: str, *options: str) -> str:
    return _run([ncu, "-i", str(report.with_suffix(".ncu-rep")), "--csv", "--page", page, *options])


def _run(command: Sequence[str]) -> str:
    environment = {**os.environ, "GRIDSTRIDE_DEVICE": "physical"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIME_LIMIT, env=environment, errors="replace"
        )
    except subprocess.TimeoutExpired:
        return f"==ERROR== it took longer than {_TIME_LIMIT:.0f} s"
    except OSError as error:
        return f"==ERROR== {error.strerror}"
    return done.stdout + (done.stderr if done.returncode else "")


def _rows(raw: str) -> Iterator[dict[str, str]]:
    """The launches on the raw page; the row of units below the header has no ID."""
    text = raw.splitlines()
    start = next((i for i, line in enumerate(text) if line.startswith('"ID"')), len(text))
    table = [line for line in text[start:] if line.startswith('"')]
    return (row for row in csv.DictReader(table) if row.get("ID"))


def _number(text: str | None) -> float | None:
    try:
        return float((text or "").replace(",", ""))
    except ValueError:
        return None
