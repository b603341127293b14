"""Kernels that TVM generates for CUDA, on the virtual GPU: each result against NumPy's in float64.

    pip install 'apache-tvm>=0.27'
    python bench/tvm_kernels.py

Operators are TVM's (topi, te), scheduled for a GPU by its own rules (s_tir.dlight). The tally is in
bench/results/tvm_kernels.json: the largest error over the largest magnitude, launches and their predicted time.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / "src")]

from common import save  # noqa: E402

import gridstride as gs  # noqa: E402

if TYPE_CHECKING:
    from tvm_cases import Case

TOLERANCE = 1e-5
"""Of float32: the error over the largest magnitude."""


def verdict(case: Case) -> dict[str, Any]:
    from tvm_cases import compiled

    began = time.perf_counter()
    program, out = gs.frameworks.tvm(compiled(case)), np.zeros(case.expected.shape, np.float32)
    with gs.frameworks.observed() as runs:
        program(*case.inputs, out)
    error = float(np.abs(out - case.expected).max() / np.abs(case.expected).max())
    return {
        "operator": case.name, "right": error <= TOLERANCE, "error": error, "tolerance": TOLERANCE,
        "kernels": sorted(program.kernels), "launches": len(runs),
        "predicted_ms": sum(run.predicted.ms for run in runs), "seconds": round(time.perf_counter() - began, 2),
    }  # fmt: skip


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    import tvm
    from tvm_cases import cases

    rows = []
    with gs.use(gs.VirtualGPU("h200", workers=2)):
        for case in cases():
            row = verdict(case)
            rows.append(row)
            word = "right" if row["right"] else "WRONG"
            print(f"{word}  {row['error']:8.1e}  {row['launches']:3} launches  {case.name}")
    right = sum(row["right"] for row in rows)
    save("tvm_kernels", {"right": right, "of": len(rows), "versions": {"tvm": tvm.__version__}, "operators": rows})
    print(f"{right} of {len(rows)} are right")


if __name__ == "__main__":
    main()
