"""A sparse matrix times a vector, y = A x, of a matrix in compressed sparse rows (CSR), float32.

Row r holds the entries offsets[r] to offsets[r + 1] - 1, each with its column in `indices`:

    y[r] = sum over k from offsets[r] to offsets[r + 1] - 1 of values[k] x[indices[k]]

offsets[0] is 0 and no offset is below the one before it; rows may be empty, and y is 0 there. A column may come more
than once in a row, and all of its entries count. `indices` and `values` have room for `entries`, of which the matrix
has offsets[rows]: what lies behind those is nobody's. A row is the sum of its own products alone: Inf and NaN stay in
the rows that meet them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size


def reference(v: Values) -> dict[str, Array]:
    """The sum of each row's products."""
    return {"y": row_sums(v, products(v))}


def magnitude(v: Values) -> dict[str, Array]:
    """The same of absolute values."""
    return {"y": row_sums(v, abs(products(v)))}


def products(v: Values) -> Array:
    """Of the matrix's entries, in their order."""
    used = v["offsets"][-1]
    product: Array = v["values"][:used] * v["x"][v["indices"][:used]]
    return product


def row_sums(v: Values, terms: Array) -> Array:
    """The terms of each row added up; a difference of running sums would carry Inf and NaN into the rows behind."""
    lengths = np.diff(v["offsets"])
    sums = np.bincount(np.repeat(np.arange(len(lengths)), lengths), terms, len(lengths))
    return sums.astype(np.float64)  # of no terms at all they are whole numbers


def in_range(v: Values) -> dict[str, Any]:
    """Offsets that ascend to the number of entries, and columns that there are; rows take any lengths.

    A matrix without a row or a column has no entries.
    """
    width, used = len(v["x"]), len(v["indices"]) if len(v["x"]) else 0
    inner = np.sort(v["offsets"][1:-1].astype(np.int64) % (used + 1))
    offsets = np.concatenate(([0], inner, [used])) if len(v["offsets"]) > 1 else np.zeros(1)
    return {"offsets": offsets.astype(np.int32), "indices": v["indices"] % width if width else 0 * v["indices"]}


def with_lengths(v: Values, shares: Array) -> dict[str, Any]:
    """Offsets by which rows have all entries in these shares."""
    ends = np.concatenate(([0.0], np.cumsum(shares, dtype=np.float64)))
    if not ends[-1]:
        return {}
    return {"offsets": np.floor(ends / ends[-1] * v["offsets"][-1]).astype(np.int32)}


def empty_rows(v: Values, draw: Generator) -> dict[str, Any]:
    """Few rows have entries; the first and the last mostly have none."""
    shares = np.where(draw.random(len(v["offsets"]) - 1) < 0.1, draw.random(len(v["offsets"]) - 1), 0.0)
    shares[: len(shares) // 4] = 0.0
    shares[-(len(shares) // 4 + 1) :] = 0.0
    return with_lengths(v, shares)


def one_long_row(v: Values, draw: Generator) -> dict[str, Any]:
    """One row has all entries or nearly all: who gives a row to a thread or to a block has one that works alone."""
    shares = np.zeros(len(v["offsets"]) - 1)
    if draw.random() < 0.5:
        shares += 0.2 / max(1, len(shares))
    if len(shares):
        shares[draw.integers(len(shares))] += 1.0
    return with_lengths(v, shares)


def last_row_alone(v: Values, draw: Generator) -> dict[str, Any]:
    """The last row has all entries, or the first, and all others none."""
    shares = np.zeros(len(v["offsets"]) - 1)
    shares[-1 if draw.random() < 0.75 else 0 :][:1] = 1.0
    return with_lengths(v, shares)


def power_law(v: Values, draw: Generator) -> dict[str, Any]:
    """Lengths fall as a power of the rank, ranks in any order: few rows have most entries, and most few."""
    ranks = draw.permutation(len(v["offsets"]) - 1) + 1.0
    return with_lengths(v, ranks ** -draw.uniform(0.8, 1.6))


def equal_rows(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows of one length, as a stencil's matrix has, with columns about the diagonal."""
    rows, width = len(v["offsets"]) - 1, len(v["x"])
    changed = with_lengths(v, np.ones(rows))
    if not changed or not width:
        return changed
    row = np.repeat(np.arange(rows), np.diff(changed["offsets"]))
    indices = v["indices"].copy()
    indices[: len(row)] = (row + draw.integers(-2, 3, len(row))) % width
    return {**changed, "indices": indices}


def repeated_columns(v: Values, draw: Generator) -> dict[str, Any]:
    """Runs of entries of one column: each of them counts."""
    return {"indices": np.repeat(v["indices"], draw.integers(2, 6))[: len(v["indices"])]}


def large_and_opposed(v: Values, draw: Generator) -> dict[str, Any]:
    """Pairs of large whole numbers of opposite sign among small ones, at columns of one value: products and sums are
    exact, and a part of a row that is counted elsewhere or lost leaves a million.
    """
    values = draw.integers(-4, 5, len(v["values"])).astype(np.float32)
    large = draw.integers(1, 1 << 20, len(values) // 2)
    values[: 2 * len(large)] += np.column_stack((large, -large)).ravel()
    return {"values": values, "x": np.ones_like(v["x"])}


def room_to_spare(v: Values, draw: Generator) -> dict[str, Any]:
    """Room behind the last row's entries: NaN, at columns that there are not."""
    offsets = (v["offsets"] * draw.random()).astype(np.int32)
    indices, values = v["indices"].copy(), v["values"].copy()
    indices[offsets[-1] :] = draw.choice([-1, len(v["x"]), (1 << 31) - 1], len(indices) - offsets[-1])
    values[offsets[-1] :] = np.nan
    return {"offsets": offsets, "indices": indices, "values": values}


def torch_csr(v: Values) -> object:
    """cuSPARSE by PyTorch, into the result's memory; the room behind the last row's entries is one of the matrix."""
    import torch

    shape = (len(v["y"]), len(v["x"]))
    matrix = torch.sparse_csr_tensor(v["offsets"], v["indices"], v["values"], shape, check_invariants=False)
    return torch.mv(matrix, v["x"], out=v["y"])


problem = Problem(
    name="spmv",
    title="Sparse matrix times vector, compressed rows, float32",
    parameters=(
        array("offsets", "int32", "rows+1"),
        array("indices", "int32", "entries"),
        array("values", "float32", "entries"),
        array("x", "float32", "columns"),
        array("y", "float32", "rows", role="out"),
        size("rows"),
        size("entries"),
    ),
    reference=reference,
    magnitude=magnitude,
    arrange=in_range,
    special={
        "empty rows": empty_rows,
        "one long row": one_long_row,
        "last row alone": last_row_alone,
        "power law": power_law,
        "equal rows": equal_rows,
        "repeated columns": repeated_columns,
        "large and opposed": large_and_opposed,
        "room to spare": room_to_spare,
    },
    wide_data=("normal", "one long row", "power law"),
    terms="entries+1",
    exact=True,
    zeros=("rows", "columns", "entries"),
    public=(
        {"rows": 256, "columns": 256, "entries": 1280},
        {"rows": 1000, "columns": 333, "entries": 9001},
        {"rows": 37, "columns": 50, "entries": 700},
        {"rows": 7, "columns": 900, "entries": 8000},
        {"rows": 5, "columns": 3, "entries": 2},
        {"rows": 1, "columns": 1, "entries": 1},
    ),
    largest={"rows": 1500, "columns": 700, "entries": 9000},
    widest={"rows": 300_000, "columns": 70_000, "entries": 600_000},
    tiles=(8, 32, 256, 896),
    observed={"rows": 4096, "columns": 1 << 18, "entries": 1 << 17},
    timed={"rows": 1 << 20, "columns": 1 << 20, "entries": 1 << 25},
    flops="2*entries",
    bytes="8*entries+8*rows+4*columns",
    peers={"torch.sparse": Peer(torch_csr)},
)
