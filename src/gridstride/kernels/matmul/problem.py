"""Matrix product: C = A B in float32, row by row in memory."""

from __future__ import annotations

from typing import Any

from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, size


def reference(v: Values) -> dict[str, Array]:
    """C[i][j] = sum over k of A[i][k] B[k][j]."""
    return {"C": v["A"] @ v["B"]}


def magnitude(v: Values) -> dict[str, Array]:
    """The same with absolute values."""
    return {"C": abs(v["A"]) @ abs(v["B"])}


def spread(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows of A and columns of B from 1e-15 to 1e15: who adds them up in one scale loses the small ones."""
    rows, columns = (10.0 ** draw.uniform(-15, 15, n) for n in (v["A"].shape[0], v["B"].shape[1]))
    return {"A": v["A"] * rows[:, None], "B": v["B"] * columns}


def cublas(v: Values) -> object:
    """cuBLAS through PyTorch, in full float32 (no tf32)."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    return torch.mm(v["A"], v["B"], out=v["C"])


problem = Problem(
    name="matmul",
    title="Matrix product, C = A B, float32",
    parameters=(
        array("A", "float32", "M", "K"),
        array("B", "float32", "K", "N"),
        array("C", "float32", "M", "N", role="out"),
        size("M"),
        size("N"),
        size("K"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="K",
    exact=True,
    zeros=("K",),
    public=(
        {"M": 64, "N": 64, "K": 64},
        {"M": 37, "N": 53, "K": 29},
        {"M": 129, "N": 20, "K": 10},
        {"M": 16, "N": 257, "K": 33},
        {"M": 67, "N": 130, "K": 40},
        {"M": 1, "N": 1, "K": 1},
        # Rows of A that can be read four at a time where those of B cannot, and the other way round; one row; more
        # steps along K than columns, and fewer: each told a wrong kernel from a right one that nothing above did.
        {"M": 127, "N": 65, "K": 64},
        {"M": 137, "N": 8, "K": 1},
        {"M": 1, "N": 67, "K": 13},
        {"M": 33, "N": 32, "K": 64},
        {"M": 9, "N": 112, "K": 16},
    ),
    largest={"M": 140, "N": 140, "K": 70},
    widest={"M": 65_000, "N": 70_000, "K": 34_000},
    special={"rows and columns of all scales": spread},
    wide_data=("rows and columns of all scales",),  # normal ones in other units: a second run of K would tell no more
    tiles=(8, 16, 32, 64, 128),
    observed={"M": 256, "N": 256, "K": 256},
    timed={"M": 4096, "N": 4096, "K": 4096},
    flops="2*M*N*K",
    bytes="4*(M*K+K*N+M*N)",
    pieces="M",
    peers={"cuBLAS": Peer(cublas)},
    torch_ops=("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::_addmm_activation"),
)
