"""Which part of the chip limits kernels that were each built to have one limiter: ours against Nsight Compute's.

    python bench/limiters.py measure FOLDER     # on a machine with a GPU: ncu over all of them, into FOLDER
    python bench/limiters.py FOLDER             # anywhere: predicts, compares, writes results/limiters_<gpu>.json

The kernels are bench/kernels/limited.cu, the limiter is what `gridstride explain` names.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import counters
from common import save
from kernel_set import limited
from prediction import counted_limited

import gridstride as gs

UNITS = {
    "issue": {"issue"}, "lsu data": {"shared memory", "L1"}, "L2": {"L2"}, "DRAM": {"DRAM"}, "fma": {"FP32"},
    "alu": {"integer"}, "fp64": {"FP64"}, "fp16": {"FP16"}, "xu": {"special functions"}, "tensor": {"tensor"},
}  # fmt: skip
"""ncu's units, and the parts of the model that they are."""
BUSY, AS_BUSY = 60.0, 0.88
"""Per cent from which ncu calls a unit the bottleneck, and what share of the busiest's another has that is as busy."""


def as_busy(row: dict[str, Any]) -> set[str]:
    """The parts that ncu found as busy as any; empty where none is the bottleneck, as where all wait."""
    units = {name: row[name] for name in UNITS if name in row}
    most = max(units.values())
    names = [name for name, share in units.items() if share >= AS_BUSY * most]
    return {part for name in names for part in UNITS[name]} if most >= BUSY else set()


def measure(folder: Path) -> int:
    """ncu's table, and what it was made with."""
    status = counters.measure(folder, "limited")
    ncu = subprocess.run(["ncu", "--version"], capture_output=True, text=True).stdout.strip().splitlines()
    gpu: Any = gs.PhysicalGPU(0)
    made = {"gpu": gpu.name, "chip": gpu.chip, "driver": gpu.driver_version, "ncu": ncu[-1] if ncu else "unknown",
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "command": "python bench/limiters.py measure FOLDER"}  # fmt: skip
    (folder / "made.json").write_text(json.dumps(made, indent=1) + "\n")
    return status


def compare(folder: Path) -> int:
    """One row a kernel: what it was built for, what ncu found busiest, what is predicted."""
    made = json.loads((folder / "made.json").read_text())
    measured = dict(counters.rows(folder / "counts_limited.csv"))
    rows = [compared(one, measured[one.name]) for one in limited() if one.name in measured]
    for row in rows:
        right = "" if row["built_for"] and row["as_measured"] is not False else "NOT RIGHT"
        print(f"{row['kernel']:20} {row['predicted']:18} ncu: {', '.join(row['measured']) or 'all wait':30} {right}")
    known = [row for row in rows if row["measured"]]
    idle = [row for row in rows if not row["measured"]]  # no unit is busy for most of the time
    summary = {
        "kernels": len(rows), "as_built_for": sum(row["built_for"] for row in rows),
        "with_a_bottleneck_by_ncu": len(known), "as_ncu": sum(row["as_measured"] for row in known),
        "without_one": len(idle), "said_to_wait": sum(row["predicted"] in WAITS for row in idle),
        "else_its_highest_unit": sum(row["predicted"] in row["highest"] for row in idle),
        "missing": [one.name for one in limited() if one.name not in measured],
    }  # fmt: skip
    print(json.dumps(summary))
    save(f"limiters_{made['chip']}", {"measured_with": made, "summary": summary, "kernels": rows})
    return 0


def compared(one: Any, row: dict[str, float]) -> dict[str, Any]:
    """A kernel with one limiter, here and there."""
    model, grid, counted = counted_limited(one)
    predicted, busiest = model.at(grid, counted).limiter, as_busy(row)
    return {
        "kernel": one.name, "predicted": predicted, "built_for": predicted in one.limiter, "measured": sorted(busiest),
        "highest": sorted(UNITS[max(UNITS, key=lambda name: row.get(name, 0.0))]),
        "as_measured": predicted in busiest if busiest else None,
        "busy_percent": {UNITS_SHOWN.get(name, name): round(row[name], 1) for name in UNITS if name in row},
    }  # fmt: skip


WAITS = ("latency", "barriers", "atomics", "launch")
"""What is no unit that ncu measures: the time goes by while nothing is busy."""

UNITS_SHOWN = {"lsu data": "L1 and shared"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="?", choices=("measure",), help="without it: predict and compare")
    parser.add_argument("folder", type=Path, help="of what ncu measured")
    options = parser.parse_args()
    if options.command == "measure":
        return measure(options.folder)
    with gs.use(gs.VirtualGPU("h200", workers=1)):
        return compare(options.folder)


if __name__ == "__main__":
    sys.exit(main())
