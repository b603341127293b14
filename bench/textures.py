"""Textures: what a physical GPU reads in every mode, bit for bit, against the virtual GPU; and how long an image takes.

    python bench/textures.py            # the virtual GPU against the recording, anywhere
    python bench/textures.py record     # with a GPU: the same texels, modes and coordinates, results written anew

The comparison leaves its tally in bench/results/textures.json. A recording holds texels, modes, coordinates and results
of every case (tests/virtual/cases/texture_cases.py); a case whose `near` is not "" may differ within the bound that is
there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests" / "virtual"
sys.path[:0] = [str(ROOT / "src"), str(TESTS / "cases")]

from common import save  # noqa: E402
from texture_cases import FIXTURE, cases, differing, read, source  # noqa: E402

import gridstride as gs  # noqa: E402

SIDE = 1024
"""Rows and columns of the image that is timed."""

IMAGE = """
extern "C" __global__ void turn(cudaTextureObject_t t, float* out, int n, float c, float s) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float u = x + 0.5f - n / 2, v = y + 0.5f - n / 2;
    out[y * n + x] = tex2D<float>(t, c * u - s * v + n / 2, s * u + c * v + n / 2);
}
"""


def compare() -> None:
    """Reads every case on the virtual GPU and counts what differs."""
    tally: Counter[str] = Counter()
    with gs.use("virtual"):
        module = gs.cuda(source(list(cases().values())))
        for case in cases().values():
            words = read(case, module)
            tally["cases"] += 1
            tally["reads"] += len(words)
            tally["equal"] += int((words == case.results).all(1).sum())
            tally["beyond their bound"] += len(differing(case, words))
        figures = {**tally, "image_ms": {workers: _image_ms(workers) for workers in (1, 2)}}
    print(json.dumps(figures, indent=2))
    save("textures", figures)


def _image_ms(workers: int) -> float:
    """Milliseconds to turn a float32 image by linear filtering, the best of five."""
    with gs.use(gs.VirtualGPU(workers=workers)):
        image = gs.texture(np.random.default_rng(0).random((SIDE, SIDE), np.float32), filter="linear")
        kernel, out = gs.cuda(IMAGE)["turn"], gs.empty((SIDE, SIDE))
        spent = []
        for _ in range(6):
            start = time.perf_counter()
            kernel[(SIDE // 16, SIDE // 16), (16, 16)](image, out, SIDE, 0.8, 0.6)
            spent.append(time.perf_counter() - start)
    return round(1e3 * min(spent[1:]), 1)


def record() -> None:
    """Reads every case on the GPU and puts the results into the recording."""
    with gs.use("physical"):
        module = gs.cuda(source(list(cases().values())))
        found = {name: read(case, module) for name, case in cases().items()}
    with np.load(FIXTURE) as file:
        stored = dict(file)
    columns = []
    for name, case in json.loads(stored["cases"].tobytes()).items():
        left = [column for column in range(4) if column not in case["result"]]
        if found[name][:, left].any():
            raise SystemExit(f"{name}: a component that was 0 is not 0 any longer: the recording has no place for it")
        columns += [found[name][:, column] for column in case["result"]]
    stored["results"] = np.concatenate(columns)
    np.savez_compressed(FIXTURE, **stored)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("compare", "record"), default="compare")
    {"compare": compare, "record": record}[parser.parse_args().what]()


if __name__ == "__main__":
    main()
