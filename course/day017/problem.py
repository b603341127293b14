"""A part of the Mandelbrot set, by subdividing: counts[row][column], across × down squares of 64 × 64 pixels.

Of each of the squares: if all pixels on its rim have one count, all inside get it; if its side is 8, each pixel is
counted by itself; otherwise its four quarters are squares in the same way. The count of a pixel: how many times
z = z² + c, from z = 0, until |z|² > 4, at most 64; c = (left + step * column, top + step * row), each operation rounded
to float64 by itself.
"""

from __future__ import annotations

import numpy as np

from gridstride.judge.problem import Array, Problem, Values, array, scalar, size

MOST = 64
SMALLEST = 8
LARGEST = 64
PARTS = ((-0.8, 0.05, 0.2), (-1.3, -0.1, 0.35), (-0.2, 0.6, 0.5), (0.2, -0.2, 0.4))
"""Left, top and width of parts with the set's edge in them."""
RIMS = (0.36985442, -0.20682470, 0.015473043)
"""One in which, at 3 × 2 squares, each side of a rim decides somewhere, and each of its corners."""
RIMS_IN_A_ROW = {3: (0.29240087, -0.09276523, 0.00060346838), 4: (-1.08871549, 0.15841617, 0.00145296910)}
"""Left, top and step of such ones with one row of squares: there a rim that lies a pixel further to the right or down,
or that lacks a few pixels at an edge's end, decides otherwise.
"""
FAR = (-15.0, -9.0, 6.0)
"""Left, top and width of a square: all of the set lies within one, whose rim has one count."""


def window(v: Values) -> dict[str, object]:
    """Square pictures show all of the set, others a part of it, which is drawn but for 3 × 2 squares and for 3 or 4 in
    a row. From 5 squares across on, the set is seen from afar.
    """
    across, down = int(v["across"]), int(v["down"])
    if down == 1 and across in RIMS_IN_A_ROW:
        left, top, step = RIMS_IN_A_ROW[across]
        return {"left": left, "top": top, "step": step}
    left, top, width = -2.0, -1.25, 2.5
    if across >= 5:
        left, top, width = FAR[0], FAR[1], FAR[2] * across
    elif (across, down) == (3, 2):
        left, top, width = RIMS
    elif across != down:
        left, top, width = PARTS[int(abs(float(v["left"])) * 1e6) % len(PARTS)]
        left += 0.1 * width * float(np.clip(v["top"], -1, 1))
    return {"left": left, "top": top, "step": width / (LARGEST * across)}


def pixel_counts(left: float, top: float, step: float, rows: int, columns: int) -> Array:
    """The count of every pixel."""
    cx, cy = np.meshgrid(left + step * np.arange(columns), top + step * np.arange(rows))
    x, y, counts = np.zeros_like(cx), np.zeros_like(cx), np.zeros(cx.shape, np.int32)
    for _ in range(MOST):
        inside = x * x + y * y <= 4.0
        counts += inside
        nx, ny = x * x - y * y + cx, 2.0 * (x * y) + cy
        x, y = np.where(inside, nx, x), np.where(inside, ny, y)
    return counts


def subdivided(counts: Array) -> Array:
    """The squares filled whose rim has one count."""
    n = len(counts)
    rim = {*counts[0].tolist(), *counts[-1].tolist(), *counts[:, 0].tolist(), *counts[:, -1].tolist()}
    if len(rim) == 1:
        return np.full_like(counts, rim.pop())
    if n <= SMALLEST:
        return counts
    h = n // 2
    quarters = [[subdivided(counts[r : r + h, c : c + h]) for c in (0, h)] for r in (0, h)]
    return np.block(quarters)


def reference(v: Values) -> dict[str, Array]:
    """The picture as the squares give it."""
    rows, columns = LARGEST * int(v["down"]), LARGEST * int(v["across"])
    counts = pixel_counts(float(v["left"]), float(v["top"]), float(v["step"]), rows, columns)
    for r in range(0, rows, LARGEST):
        for c in range(0, columns, LARGEST):
            square = np.s_[r : r + LARGEST, c : c + LARGEST]
            counts[square] = subdivided(counts[square])
    return {"counts": counts}


problem = Problem(
    name="mandelbrot",
    title="A part of the Mandelbrot set, by subdividing",
    parameters=(
        array("counts", "int32", "64*down", "64*across", role="out"),
        scalar("left", "float64"),
        scalar("top", "float64"),
        scalar("step", "float64"),
        size("across"),
        size("down"),
    ),
    reference=reference,
    arrange=window,
    exact=True,
    bitwise=True,
    public=({"across": 1, "down": 1}, {"across": 2, "down": 1}, {"across": 1, "down": 2}),
    largest={"across": 4, "down": 2},
    observed={"across": 2, "down": 2},
    timed={"across": 4, "down": 2},
    flops="64*64*across*down*64*7",
    bytes="4*64*64*across*down",
)
