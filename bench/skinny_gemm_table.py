"""What bench/skinny_gemm_h200.py multiplies, with which cuts, and what it prints: all of it that needs no GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gridstride.kernels.skinny_gemm.cut import Cut, cuts

SHAPES = {"qkv": (4096, 1024), "output": (1024, 2048), "gate_up": (6144, 1024), "down": (1024, 3072),
          "head": (151_936, 1024)}  # fmt: skip
COLD = 200e6  # bytes of weights that a graph goes through at least
COPY = 4.26e12  # bytes/s of a large device-to-device copy on this GPU, bench of the first baselines
MMA = "06_dependent"  # the rung with mma.sync that is cut as the one that ships
MARKS = ("asked", "waited", "x", "weights", "multiplied", "met", "stored")


def copies(n: int, k: int) -> int:
    """Weight matrices that are gone through, so that none is found in L2."""
    return -(-int(COLD) // (2 * n * k))


def limit_us(m: int, n: int, k: int) -> float:
    """Microseconds that the bytes take at the speed of a copy."""
    return 2 * (n * k + m * k + m * n) / COPY * 1e6


def some_cuts(m: int, n: int, k: int, multiprocessors: int, count: int) -> list[Cut]:
    """The op's own cut and the next ones by its model, the deepest ring of each."""
    found: dict[tuple[int, ...], Cut] = {}
    for one in cuts(m, n, k, multiprocessors=multiprocessors):
        found.setdefault((one.splits, one.warps, one.columns), one)
    return list(found.values())[:count]


def label(one: Cut, rung: str) -> str:
    """Splits, warps, columns and depth in one word, and whether by mma.sync."""
    return f"{one.splits}s{one.warps}w{one.columns}c{one.depth}d{'m' if rung == MMA else ''}"


def table(found: dict[str, Any]) -> Iterator[str]:
    """What was measured, as short as it goes."""
    yield f"right: {found.get('right')}"
    yield "us of a layer's four products, 28 layers in one graph"
    for m, times in found["chains"].items():
        yield f"  M={m:>3}  " + "  ".join(f"{name} {us:.1f}" for name, us in times.items())
    yield "us of a product: cuBLAS, own cut, with mma.sync, best cut, limit"
    for name, by_rows in found["products"].items():
        for m, times in by_rows.items():
            mine = {key: us for key, us in times.items() if key != "cuBLAS" and us == us}
            best = min(mine, key=mine.__getitem__, default="")
            mma = next((us for key, us in mine.items() if key.endswith("m")), float("nan"))
            shown = f"{next(iter(mine.values())):6.2f}  {mma:6.2f}  {mine[best]:6.2f} {best}" if mine else "none"
            yield f"  {name:<8} M={m:>3}  {times['cuBLAS']:6.2f}  {shown}  {limit_us(int(m), *SHAPES[name]):.2f}"
    yield f"cycles of a block, early: {' '.join(MARKS)}"
    for name, cycles in found["marks"].items():
        yield f"  {name:<14}" + " ".join(f"{count:6}" for count in cycles.values())
    for name, step in found["decode"].items():
        yield f"ms of a decode step, 32 sequences: {name} {step['step_ms']:.3f}"
    yield "us of a product at M=32, float16"
    for rung, times in found["rungs"].items():
        yield f"  {rung:<16}" + "  ".join(f"{name} {us:.2f}" for name, us in times.items())
