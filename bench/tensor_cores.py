"""Tensor-core arithmetic: what a physical GPU makes of random fragments, and how fast the virtual GPU multiplies.

    python bench/tensor_cores.py record tests/virtual/fixtures/tensor_cores_h200.npz    # on a machine with a GPU
    python bench/tensor_cores.py compare    # the virtual GPU against the recording, anywhere
    python bench/tensor_cores.py speed      # GFLOP/s of a tiled matmul on one core

A recording holds D's registers of every case of `tests/virtual/cases/tensor_cases.py` by the instruction's name; the
fragments are made again from the name.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import ml_dtypes
import numpy as np

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests" / "virtual"
sys.path[:0] = [str(ROOT / "src"), str(TESTS / "cases")]

import tensor_cases  # noqa: E402

import gridstride as gs  # noqa: E402

FIXTURE = TESTS / "fixtures" / "tensor_cores_h200.npz"
WARPS = 4 * len(tensor_cases.KINDS)
"""Fragments of each case: four of every kind of numbers."""


def record(path: Path) -> None:
    """Runs every case on the physical GPU and stores what comes out; what it refuses is named and left out."""
    results = {}
    with gs.use("physical"):
        for case in tensor_cases.cases():
            try:
                results[case.name] = tensor_cases.run(case, tensor_cases.fragments(case, WARPS))
            except gs.DeviceError as error:
                print(f"{case.name}: {error}")
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **results)  # type: ignore[arg-type]  # its allow_pickle is no name of a case
    print(f"{len(results)} cases, {path.stat().st_size} bytes")


def compare(path: Path) -> int:
    """Prints each case with how many numbers differ, by kind; returns how many cases do."""
    wrong = 0
    with np.load(path) as recorded, gs.use("virtual"):
        for case in tensor_cases.cases():
            if case.name not in recorded:
                print(f"{case.name}: not recorded")
                continue
            wanted = recorded[case.name]
            given = tensor_cases.fragments(case, wanted.shape[1])
            differs = (tensor_cases.run(case, given) != wanted).sum((0, 2))
            counts = {
                kind: int(differs[i :: len(tensor_cases.KINDS)].sum()) for i, kind in enumerate(tensor_cases.KINDS)
            }
            found = ", ".join(f"{kind} {n}" for kind, n in counts.items() if n)
            wrong += bool(found)
            print(f"{case.name}: {found or 'equal'}")
    return wrong


def speed(n: int = 1024) -> None:
    """A bf16 matmul with ldmatrix and mma.sync, on one core."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((n, n)).astype(ml_dtypes.bfloat16) for _ in range(2))
    c = np.zeros((n, n), np.float32)
    with gs.use(gs.VirtualGPU(workers=1)):
        kernel = gs.cuda((ROOT / "bench" / "kernels" / "tensor_matmul.cu").read_text())["tensor_matmul"]
        kernel[1, 128](a, b, c, n)
        start = time.perf_counter()
        kernel[(n // 128, n // 128), 128](a, b, c, n)
        seconds = time.perf_counter() - start
    wrong = np.abs(c - a.astype(np.float32) @ b.astype(np.float32)).max()
    print(f"{n}³ in {seconds:.3f} s: {2 * n**3 / seconds / 1e9:.1f} GFLOP/s, furthest from float32 {wrong:.1e}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("record", "compare", "speed"), default="compare")
    parser.add_argument("recording", type=Path, nargs="?", default=FIXTURE)
    options = parser.parse_args()
    match options.what:
        case "record":
            record(options.recording)
        case "compare":
            sys.exit(compare(options.recording) > 0)
        case "speed":
            speed()


if __name__ == "__main__":
    main()
