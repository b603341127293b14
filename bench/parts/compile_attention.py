"""Compiles and launches the 200-line kernel in this process and prints where the time went, in ms, as one JSON object.

`total` is on the clock, all else processor time, which other programs on the machine do not lengthen.

`compile_attention.py first`: as the first thing of the process. `… later`: after another kernel has brought the
compilers, the runtime and the device to life. What is in $GRIDSTRIDE_CACHE decides whether it is cold.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

SPENT: dict[str, float] = {}


def clock(room: ModuleType, name: str, part: str) -> None:
    """Counts the time that a function of the product takes, its own callees included, under `part`."""
    inner: Callable[..., Any] = getattr(room, name)

    def timed(*words: Any, **more: Any) -> Any:
        start = time.process_time()
        try:
            return inner(*words, **more)
        finally:
            SPENT[part] = SPENT.get(part, 0.0) + 1e3 * (time.process_time() - start)

    setattr(room, name, timed)


STARTED = time.process_time()
import numpy as np  # noqa: E402

import gridstride as gs  # noqa: E402
from gridstride.compiler.cuda import compile_cuda  # noqa: E402
from gridstride.virtual.launch import linking  # noqa: E402
from gridstride.virtual.lowering import kernel  # noqa: E402
from gridstride.virtual.machine import engine  # noqa: E402

IMPORTED = time.process_time()
clock(compile_cuda, "_compile", "nvrtc")
clock(linking, "parse", "parse")
clock(kernel, "lower_kernel", "lower")
clock(engine, "compile_object", "llvm")
clock(engine, "load_objects", "load")

HEADS, QUERIES, KEYS, D = 2, 48, 112, 64
SHARED = 4 * 64 * 65 * 4
SIZES = ("heads", "kv_heads", "queries", "keys", "window", "causal")
SHAPE = np.dtype([*((name, "i4") for name in SIZES), ("scale", "f4")])


def main(when: str) -> None:
    source = (Path(__file__).parents[1] / "kernels" / "attention.cu").read_text()
    rng = np.random.default_rng()
    with gs.use(gs.VirtualGPU(workers=1)):
        if when == "later":
            ready = gs.cuda('extern "C" __global__ void ready(int* done) { *done = 1; }')["ready"]
            ready[1, 1](gs.empty(1, np.int32))
            SPENT.clear()
        q, k, v = (rng.standard_normal((1, h, n, D), np.float32) for h, n in ((HEADS, QUERIES), (1, KEYS), (1, KEYS)))
        slopes = rng.random(HEADS, np.float32) / 16
        device = [gs.to_device(each) for each in (q, k, v, slopes)]
        out, log_sum = gs.to_device(np.zeros_like(q)), gs.to_device(np.zeros(q.shape[:3], np.float32))
        shape = np.array([(HEADS, 1, QUERIES, KEYS, 100, 1, D**-0.5)], SHAPE)[0]
        start, used = time.perf_counter(), time.process_time()
        attention = gs.cuda(source)["attention"]
        attention[(-(-QUERIES // 64), HEADS, 1), (16, 16), SHARED](*device, out, log_sum, shape)
        total, cpu = 1e3 * (time.perf_counter() - start), 1e3 * (time.process_time() - used)
        check(out.numpy(), log_sum.numpy(), q, k, v, slopes)
    print(json.dumps({"total": total, "cpu": cpu, "imports": 1e3 * (IMPORTED - STARTED), **SPENT}))


def check(out: np.ndarray, log_sum: np.ndarray, *inputs: np.ndarray) -> None:
    """Against the formula in float64."""
    q, k, v, slopes = (each.astype(np.float64) for each in inputs)
    k, v = (np.repeat(each, HEADS, axis=1) for each in (k, v))
    distance = np.arange(QUERIES)[:, None] + KEYS - QUERIES - np.arange(KEYS)
    scores = q @ k.swapaxes(-1, -2) * D**-0.5 - slopes[:, None, None] * distance
    weights = np.exp(np.where((distance >= 0) & (distance < 100), scores, -np.inf))
    np.testing.assert_allclose(log_sum, np.log(weights.sum(-1)), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(out, weights / weights.sum(-1, keepdims=True) @ v, rtol=1e-3, atol=1e-4)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("when", choices=("first", "later"))
    main(parser.parse_args().when)
