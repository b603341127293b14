"""Kernels of JAX's Pallas, unmodified, on the virtual GPU: each result against NumPy's in float64.

    pip install 'jax>=0.10' 'gridstride[triton]'
    python bench/pallas_kernels.py

Six of them are JAX's own (jax.experimental.pallas.ops.gpu), five are in pallas_cases.py. The tally is in
bench/results/pallas_kernels.json: the largest error over the largest magnitude, what the kernels count together, and
the predicted time of their launches.
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
    from pallas_cases import Case


def verdict(case: Case) -> dict[str, Any]:
    import jax

    began = time.perf_counter()
    with gs.frameworks.observed() as runs:
        outcome = jax.tree.leaves(jax.block_until_ready(case.call()))
    seconds = time.perf_counter() - began
    expected = jax.tree.leaves(case.expected())
    errors = [
        float(np.abs(np.asarray(got, np.float64) - want).max() / np.abs(want).max())
        for got, want in zip(outcome, expected, strict=True)
    ]
    return {
        "kernel": case.name, "from": case.origin, "right": max(errors) <= case.tolerance, "error": max(errors),
        "tolerance": case.tolerance, "launches": len(runs), "predicted_ms": sum(run.predicted.ms for run in runs),
        "warp_instructions": sum(run.counters.instructions for run in runs), "seconds": round(seconds, 2),
    }  # fmt: skip


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    import jax
    from pallas_cases import cases

    rows = []
    with gs.use(gs.VirtualGPU("h200", workers=2)), gs.frameworks.pallas():
        for case in cases():
            rows.append(verdict(case))
            row = rows[-1]
            word = "right" if row["right"] else "WRONG"
            print(f"{word}  {row['error']:8.1e}  {row['launches']:3} launches  {case.name}")
    right = sum(row["right"] for row in rows)
    versions = {"jax": jax.__version__}
    save("pallas_kernels", {"right": right, "of": len(rows), "versions": versions, "kernels": rows})
    print(f"{right} of {len(rows)} are right")


if __name__ == "__main__":
    main()
