"""Counts of real kernels: what Nsight Compute says on a GPU, against what the virtual GPU counts.

python bench/counters.py measure FOLDER       # on a machine with a GPU: runs ncu, writes FOLDER/counts.csv
python bench/counters.py record FOLDER/counts.csv [tests/virtual/fixtures/kernels_ncu_h200.json]
python bench/counters.py                      # compares the virtual GPU with that, anywhere
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from kernel_set import Case, limited, real, small_ladders

import gridstride as gs

FIXTURE = Path(__file__).parent.parent / "tests/virtual/fixtures/kernels_ncu_h200.json"

METRICS = {
    **{
        f"l1tex__t_{what}_pipe_lsu_mem_{space}_op_{op}.sum": f"{space}_{name}_{what}"
        for what in ("requests", "sectors")
        for space, ops in (("global", ("ld", "st", "atom", "red")), ("local", ("ld", "st")))
        for op, name in (("ld", "load"), ("st", "store"), ("atom", "atomic"), ("red", "reduction"))
        if op in ops
    },
    "l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts.sum": "copy_requests",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts_cache_access.sum": "copy_requests_ca",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum": "copy_requests_cg",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts.sum": "copy_sectors",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access.sum": "copy_sectors_ca",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum": "copy_sectors_cg",
    **{
        f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum": f"shared_{name}_wavefronts"
        for op, name in (("ld", "load"), ("st", "store"), ("atom", "atomic"), ("ldgsts", "copy"), ("ldsm", "matrix"))
    },
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": "shared_wavefronts",
    "l1tex__data_pipe_lsu_wavefronts_mem_lg.sum": "global_wavefronts",
    "l1tex__data_pipe_lsu_wavefronts.sum": "wavefronts",
    **{
        f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum": f"shared_{name}_conflicts"
        for op, name in (("ld", "load"), ("st", "store"), ("atom", "atomic"), ("ldsm", "matrix"))
    },
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": "shared_conflicts",
    "smsp__inst_executed.sum": "instructions",
    "smsp__thread_inst_executed.sum": "active_lanes",
    "smsp__inst_executed_op_branch.sum": "branches",
    "smsp__sass_inst_executed_op_branch.sum": "branches_sass",
    "smsp__sass_branch_targets.sum": "branch_targets",
    "smsp__sass_branch_targets_threads_divergent.sum": "divergent_branches",
    "smsp__sass_branch_targets_threads_uniform.sum": "uniform_branches",
    **{
        f"smsp__inst_executed_op_{op}.sum": f"instructions_{op}"
        for op in ("global_ld", "global_st", "global_atom", "global_red", "local_ld", "local_st", "shared_ld",
                   "shared_st", "shared_atom", "ldsm", "ldgsts", "texture", "generic_ld", "generic_st", "ldc")
    },
    **{
        f"smsp__inst_executed_pipe_{pipe}.sum": f"pipe_{pipe}"
        for pipe in ("fma", "fmaheavy", "alu", "fp64", "fp16", "xu", "lsu", "adu", "cbu", "uniform", "tensor",
                     "tensor_op_hmma", "tensor_op_imma", "tensor_op_dmma", "tma", "ipa", "tex")
    },
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": "lanes_ffma",
    "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum": "lanes_fadd",
    "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum": "lanes_fmul",
    "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum": "lanes_dfma",
    "lts__t_sectors_srcunit_tex_op_read.sum": "l2_read_sectors",
    "lts__t_sectors_srcunit_tex_op_write.sum": "l2_write_sectors",
    "lts__t_sectors_srcunit_tex_op_atom.sum": "l2_atomic_sectors",
    "lts__t_sectors_srcunit_tex_op_red.sum": "l2_reduction_sectors",
    "lts__t_sectors_srcunit_tex.sum": "l2_sectors",
    "lts__t_requests_srcunit_tex.sum": "l2_requests",
    "l1tex__m_xbar2l1tex_read_sectors.sum": "l1_fill_sectors",
    "l1tex__m_xbar2l1tex_read_sectors_mem_tma_op_ld.sum": "tma_sectors",
    "l1tex__m_l1tex2xbar_write_sectors.sum": "l1_write_sectors",
    "l1tex__t_sectors_lookup_hit.sum": "l1_hits",
    "l1tex__t_sectors_lookup_miss.sum": "l1_misses",
    "dram__bytes_read.sum": "dram_read_bytes",
    "dram__bytes_write.sum": "dram_write_bytes",
    "gpu__time_duration.sum": "nanoseconds",
    "launch__registers_per_thread": "registers",
    "launch__occupancy_limit_blocks": "limit_blocks",
    "launch__occupancy_limit_registers": "limit_registers",
    "launch__occupancy_limit_shared_mem": "limit_shared",
    "launch__occupancy_limit_warps": "limit_warps",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "achieved_occupancy",
}  # fmt: skip
BUSY = {
    "smsp__issue_active.avg.pct_of_peak_sustained_elapsed": "issue",
    "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed": "lsu data",
    "l1tex__lsuin_requests.avg.pct_of_peak_sustained_elapsed": "lsu requests",
    "l1tex__t_sectors.avg.pct_of_peak_sustained_elapsed": "L1 tags",
    "lts__t_sectors.avg.pct_of_peak_sustained_elapsed": "L2",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "DRAM",
    **{
        f"sm__inst_executed_pipe_{pipe}.avg.pct_of_peak_sustained_elapsed": pipe
        for pipe in ("fma", "alu", "fp64", "fp16", "xu", "tensor", "tensor_op_hmma", "lsu", "cbu", "uniform")
    },
    "smsp__inst_executed.sum": "instructions",
    "lts__t_sectors_srcunit_tex_op_read.sum": "l2_read_sectors",
    "lts__t_sectors_srcunit_tex_op_write.sum": "l2_write_sectors",
    "dram__bytes_read.sum": "dram_read_bytes",
    "dram__bytes_write.sum": "dram_write_bytes",
    "gpu__time_duration.sum": "nanoseconds",
    "launch__registers_per_thread": "registers",
}  # fmt: skip


def cases() -> Iterator[Case]:
    """In the order in which they are launched."""
    yield from real()
    yield from small_ladders()


def launch(which: str) -> None:
    """Launches every case once; one that fails says so and leaves no count."""
    if which == "real":
        for case in cases():
            _try(case.name, case.launch)
        return
    for one in limited():
        _try(one.name, lambda one=one: one.kernel[one.grid, one.block](*one.arguments(one.grid, one.rounds)))


def _try(name: str, call: Any) -> None:
    try:
        call()
        gs.device().synchronize()
        print(f"launched {name}", flush=True)
    except Exception as error:
        print(f"failed {name}: {error!r}", flush=True)


def known(wanted: dict[str, str]) -> list[str]:
    """Those of the metrics that this ncu has."""
    listed = subprocess.run(["ncu", "--query-metrics"], capture_output=True, text=True).stdout
    names = {line.split()[0] for line in listed.splitlines() if line.strip()}
    return [m for m in wanted if m.partition(".")[0] in names or m.startswith("launch__")]


def measure(folder: Path, only: str = "") -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for which, wanted in SETS.items():
        if only not in ("", which):
            continue
        metrics = known(wanted)
        print(which, "without", [m for m in wanted if m not in metrics], flush=True)
        command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base", "--metrics"]
        command += [",".join(metrics), sys.executable, __file__, "launch", which]
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "GRIDSTRIDE_DEVICE": "physical"}
        )
        (folder / f"counts_{which}.csv").write_text(done.stdout)
        print(which, done.returncode, done.stderr[-1500:], flush=True)
    return 0


def rows(counts: Path) -> Iterator[tuple[str, dict[str, float]]]:
    """(case, figures) out of ncu's raw page, in the order of the launches that were made."""
    text = counts.read_text().splitlines()
    made = [line.removeprefix("launched ") for line in text if line.startswith("launched ")]
    start = next(i for i, line in enumerate(text) if line.startswith('"ID"'))
    end = next((i for i in range(start, len(text)) if not text[i].startswith('"')), len(text))
    table = [row for row in csv.DictReader(text[start:end]) if row["ID"]]
    for name, row in zip(made, table, strict=True):
        names = {**METRICS, **BUSY}
        yield name, {names[k]: float(v.replace(",", "")) for k, v in row.items() if k in names and v not in ("", "n/a")}


SETS = {"real": METRICS, "limited": BUSY}
"""Kernels that are measured together, and what is measured of them."""
WAYS = {"global": ("load", "store", "atomic", "reduction"), "local": ("load", "store")}
EQUAL = {
    **{
        f"{space}_{way}_{what}": f"{space}_{way}_{what}"
        for space, ways in WAYS.items()
        for way in ways
        for what in ("requests", "sectors")
    },
    "shared_load_wavefronts": "shared_load_wavefronts", "shared_store_wavefronts": "shared_store_wavefronts",
    "shared_atomic_wavefronts": "shared_atomic_wavefronts", "load_conflicts": "shared_load_conflicts",
    "store_conflicts": "shared_store_conflicts", "atomic_conflicts": "shared_atomic_conflicts",
}  # fmt: skip
"""Counters of ours, and the figures of ncu that they must equal."""

BESIDE = {"instructions": "instructions", "branches": "branches_sass", "divergent_branches": "divergent_branches",
          "l1_missed_sectors": "l1_fill_sectors",
          "l2_sectors": "l2_sectors"}  # fmt: skip
"""Those that are given beside each other: the one is of PTX, or of a picture of L1, the other of the machine."""


def record(counts: Path, fixture: Path) -> None:
    """Turns ncu's table into the fixture: one line for each kernel."""
    wanted = {*EQUAL.values(), *BESIDE.values(), "registers"}
    kept = ((name, {k: int(v) for k, v in row.items() if k in wanted and v}) for name, row in rows(counts))
    found = [json.dumps({"kernel": name, **row}) for name, row in kept]
    fixture.parent.mkdir(parents=True, exist_ok=True)
    command = "python bench/counters.py measure"
    head = f'"machine": "NVIDIA H200", "tool": "ncu", "command": "{command}", "date": "2026-11-21"'
    fixture.write_text(f'{{{head}, "cases": [\n' + ",\n".join(found) + "\n]}\n")


def differences(counters: Any, measured: dict[str, int]) -> dict[str, tuple[int, int]]:
    """(ours, ncu's) of the counters that must be equal and are not."""
    pairs = {ours: (getattr(counters, ours), measured.get(theirs, 0)) for ours, theirs in EQUAL.items()}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def compare(fixture: Path) -> int:
    """Prints how every kernel's counts differ, then ratios of those that need not be equal."""
    measured = {row["kernel"]: row for row in json.loads(fixture.read_text())["cases"]}
    equal = 0
    for case in cases():
        if case.name not in measured:
            print(f"{case.name:36} not measured")
            continue
        theirs = measured[case.name]
        counters = case.launch(observe=True).counters
        wrong = differences(counters, theirs)
        equal += not wrong
        beside = [
            f"{name} {getattr(counters, name)}/{theirs.get(other, 0)}"
            for name, other in BESIDE.items()
            if theirs.get(other, 0) and getattr(counters, name)
        ]
        print(f"{case.name:36} {wrong if wrong else 'equal'}   {', '.join(beside)}")
    print(f"{equal} of {len(measured)} kernels have every count in common with the GPU")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", help="without one: compare")
    measuring = commands.add_parser("measure", help="run ncu over the kernels")
    measuring.add_argument("folder", type=Path)
    measuring.add_argument("set", nargs="?", default="", choices=["", *SETS], help="of kernels; all unless given")
    recording = commands.add_parser("record", help="write the fixture from ncu's counts")
    recording.add_argument("counts", type=Path, help="ncu's CSV")
    recording.add_argument("fixture", type=Path, nargs="?", default=FIXTURE)
    commands.add_parser("launch", help="launch a set of kernels, under ncu").add_argument("set", choices=SETS)
    options = parser.parse_args()
    match options.command:
        case "measure":
            return measure(options.folder, options.set)
        case "record":
            record(options.counts, options.fixture)
        case "launch":
            launch(options.set)
        case _:
            with gs.use(gs.VirtualGPU(workers=1)):
                return compare(FIXTURE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
