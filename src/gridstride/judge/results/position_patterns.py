"""Patterns that are seen in where the wrong elements lie, or in whose values they have."""

from __future__ import annotations

import numpy as np

from gridstride.judge.results.evidence import (
    COARSE,
    MOST_OF_THEM,
    Evidence,
    Pattern,
    PatternName,
    all_finite,
    is_tail,
    mostly_true,
    nearly_equal,
    span,
    were,
)

_GROUPS = tuple(1 << bits for bits in range(1, 11))  # elements that are done together: a vector, a warp, a block
_SEVERAL = 8  # elements before a tail, from which on that it begins behind a whole group is no chance
_WHOLE_EDGE = 0.75  # of the elements on the edges of tiles that must be wrong, so that edges are said to be


def never_written(e: Evidence) -> Pattern | None:
    if not e.unwritten.any():
        return None
    where = span(e.unwritten)
    if e.unwritten.all():
        mistake = "Does the kernel store its result, and is its guard ever true?"
    elif _grid_ends(e):
        mistake = "Likely the grid is too small: the number of blocks must be rounded up, ceil(n / threads)."
    elif e.blocks * e.block >= e.unwritten.size:
        mistake = "There are threads enough: does a guard keep them out, or does their index come out as another's?"
    else:
        mistake = "Likely the grid does not cover them, a guard keeps their threads out, or an index wraps round."
    return Pattern("never_written", f"{where} {were(e.unwritten)} never written", mistake)


def _grid_ends(e: Evidence) -> bool:
    """Whether what was never written begins where the threads end, each with as many elements as the others."""
    threads = e.blocks * e.block
    written = e.unwritten.size - int(e.unwritten.sum())
    return is_tail(e.unwritten) and 0 < threads < e.unwritten.size and written % threads == 0


def transposed(e: Evidence) -> Pattern | None:
    if e.got.ndim != 2 or min(e.got.shape) < 2 or not mostly_true(e.wrong):
        return None
    rows, columns = e.expected.shape
    stored_by_column = e.expected.T.reshape(rows, columns)
    if not nearly_equal(e.got, stored_by_column) or nearly_equal(e.got, e.expected):
        return None
    mistake = f"Element (row, column) of {rows} rows and {columns} columns lies at row * {columns} + column."
    return Pattern("transposed", "the result is transposed: it is stored column by column", mistake)


def shifted(e: Evidence) -> Pattern | None:
    flat, expected = e.got.reshape(-1), e.expected.reshape(-1)
    if flat.size < 4 or not mostly_true(e.wrong):
        return None
    for step, neighbour in ((1, "next"), (-1, "previous")):
        left, right = (flat[:-1], expected[1:]) if step == 1 else (flat[1:], expected[:-1])
        if nearly_equal(left, right) and not nearly_equal(flat, expected):
            return Pattern(
                "shifted", f"each element holds the value of the {neighbour} one", "Likely an index off by one."
            )
    return None


def tail(e: Evidence) -> Pattern | None:
    if not is_tail(e.wrong):
        return None
    count = int(e.wrong.sum())
    elements_before = e.wrong.size - count
    groups = (e.block, *_GROUPS)
    mistake = ""
    if elements_before >= _SEVERAL and any(group > count and elements_before % group == 0 for group in groups):
        mistake = "Likely the elements after the last full group are not done, or are done by nobody's thread."
    return Pattern("tail", f"only {span(e.wrong)} {were(e.wrong)} wrong", mistake)


def border(e: Evidence) -> Pattern | None:
    if e.wrong.ndim != 2 or min(e.wrong.shape) < 5:
        return None
    for width in range(1, min(e.wrong.shape) // 2):
        inner = e.wrong[width:-width, width:-width]
        edges = (e.wrong[0], e.wrong[-1], e.wrong[:, 0], e.wrong[:, -1])
        if not inner.any():
            top, bottom, left, right = (edge.mean() > 0.5 for edge in edges)
            if not (top and left and bottom == right):  # at the end alone it may be a tile that is not full
                return None
            text = f"only elements within {width} of the border are wrong"
            return Pattern("border", text, "What lies outside must be left out, and out of the count as well.")
    return None


_SIDES: tuple[tuple[int, str, PatternName, PatternName], ...] = (
    (0, "columns", "columns_above", "columns_every"), (1, "rows", "rows_above", "rows_every"),
)  # fmt: skip


def whole_lines(e: Evidence) -> Pattern | None:
    if e.wrong.ndim != 2:
        return None
    for axis, name, above, every in _SIDES:
        hit = np.flatnonzero(e.wrong.any(axis=axis))
        count = e.wrong.shape[1 - axis]
        if hit.size in (0, count) or np.take(e.wrong, hit, 1 - axis).mean() < 0.5:
            continue
        if hit.size == count - hit[0] and hit.size > 1:
            text = f"only {name} {hit[0]} to {count - 1} of {count} are wrong"
            return Pattern(above, text, f"Likely the tile that begins at {hit[0]} is not full.")
        steps = np.diff(hit)
        if hit.size > 2 and (steps == steps[0]).all() and steps[0] > 1:
            text = f"one in {steps[0]} of the {name} is wrong, from {hit[0]} on"
            return Pattern(every, text, f"Look for what happens once in {steps[0]}: a tile's edge, a lane.")
    return None


def tile_edges(e: Evidence) -> Pattern | None:
    """Wrong elements that come back at the same places in every tile."""
    if e.wrong.ndim != 2 or mostly_true(e.wrong):
        return None
    for tile in (8, 16, 32, 64):
        rows, columns = e.wrong.shape
        if rows <= tile and columns <= tile:
            break
        row_hits = {int(r) % tile for r in np.flatnonzero(e.wrong.mean(axis=1) > 0.9)}
        column_hits = {int(c) % tile for c in np.flatnonzero(e.wrong.mean(axis=0) > 0.9)}
        covered = np.zeros_like(e.wrong)
        covered[[r for r in range(rows) if r % tile in row_hits], :] = True
        covered[:, [c for c in range(columns) if c % tile in column_hits]] = True
        # At the border of the whole array nothing may be missing, so not every place that is covered must be wrong.
        inner = covered.copy()  # what is wrong at the array's border only says nothing of tiles
        inner[: tile // 2], inner[rows - tile // 2 :] = False, False
        inner[:, : tile // 2], inner[:, columns - tile // 2 :] = False, False
        if not inner.any() or e.wrong[inner].mean() <= _WHOLE_EDGE:
            continue
        if (row_hits or column_hits) and not (e.wrong & ~covered).any() and e.wrong[covered].mean() > _WHOLE_EDGE:
            text = f"the same rows and columns of every {tile}×{tile} tile are wrong"
            return Pattern("tile_edges", text, "Likely values from the neighbouring tile (the halo) are missing.")
    return None


def permuted(e: Evidence) -> Pattern | None:
    """The wrong elements hold one another's values. Elements that are right, or nearly, say nothing of that."""
    got, expected = e.got[e.wrong].astype(np.float64), e.expected[e.wrong].astype(np.float64)
    if got.size < 4 or not all_finite(got, expected) or not nearly_equal(np.sort(got), np.sort(expected)):
        return None
    differs = np.abs(got - expected) > COARSE * np.maximum(np.abs(expected), np.abs(got))
    if differs.mean() < MOST_OF_THEM:
        return None
    return Pattern("permuted", "the values are right but in the wrong places", "Check how the output index is made.")
