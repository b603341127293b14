"""Backward pass of cross-entropy: dlogits = dloss (e^(x - lse) - [class is the label]), from logits, labels, lse of the
forward pass, and the gradient of each row's loss.

A row whose label is `ignore_index` has the gradient 0, whatever its logits, lse and dloss. A label that is neither that
nor a class has the gradient NaN: nothing may be read or written for it. Inf and NaN elsewhere go their way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, scalar, size

IGNORED = (-100, -100, -1, 0)  # what ignore_index is, by what was drawn; 0 is a class

SMALL = 2.0**-125  # a rounding error of this is the step between float32 numbers about zero


def _parts(v: Values) -> tuple[Array, Array, Array]:
    """Probabilities, 1 at each row's label, and the gradient of its loss; NaN where the label is none."""
    x, labels = v["logits"], v["labels"]
    p = np.exp(x - v["lse"][:, None])
    is_class = (labels >= 0) & (labels < x.shape[1])
    return p, np.arange(x.shape[1]) == labels[:, None], np.where(is_class, v["dloss"], np.nan)[:, None]


def reference(v: Values) -> dict[str, Array]:
    """Each row by itself."""
    with np.errstate(all="ignore"):
        p, one_hot, slope = _parts(v)
        return {"dlogits": np.where((v["labels"] == v["ignore_index"])[:, None], 0.0, (p - one_hot) * slope)}


def magnitude(v: Values) -> dict[str, Array]:
    """|dloss| (p (1 + |x - lse|) + [label]): a power's rounding error is in proportion to its argument, but below
    the smallest normal number of a fixed size, which dloss makes larger.
    """
    with np.errstate(all="ignore"):
        p, one_hot, slope = _parts(v)
        rounding = np.where(p > 0, p * abs(v["logits"] - v["lse"][:, None]), 0.0)
        return {
            "dlogits": np.where(
                (v["labels"] == v["ignore_index"])[:, None], 0.0, (p + rounding + one_hot + SMALL) * abs(slope)
            )
        }


def log_sum_exp(logits: Array) -> Array:
    """What the forward pass leaves; of nothing but -Inf that is -Inf."""
    with np.errstate(all="ignore"):
        x = logits.astype(np.float64)
        largest = np.max(x, axis=1, initial=-np.inf)
        from_ = np.where(largest == -np.inf, 0.0, largest)[:, None]
        return (largest + np.log(np.sum(np.exp(x - from_), axis=1))).astype(np.float32)


def arrange(v: Values) -> dict[str, Any]:
    """Labels that are classes, but for a quarter that is `ignore_index`, and the lse of these logits."""
    ignore_index = IGNORED[v["ignore_index"] % len(IGNORED)]
    labels = np.where((v["labels"] >> 40) % 4 == 0, ignore_index, v["labels"] % v["logits"].shape[1])
    return {"ignore_index": ignore_index, "labels": labels, "lse": log_sum_exp(v["logits"])}


def _with(logits: Array, **changed: Any) -> dict[str, Any]:
    logits = logits.astype(np.float32)
    return {"logits": logits, "lse": log_sum_exp(logits), **changed}


def labels_out_of_range(v: Values, draw: Generator) -> dict[str, Any]:
    """Labels next to both ends of the classes, far out, and -100 where something else is ignored. The first row's lies
    in front of the logits and the last one's behind them, where reading is out of bounds.
    """
    classes, ignored = v["logits"].shape[1], v["ignore_index"]
    edges = [-1, -100, 0, classes - 1, classes, classes + 1, 1 << 32, (1 << 32) + 1, -(1 << 63), ignored]
    labels = draw.choice(np.array(edges, np.int64), v["labels"].shape)
    labels[:1] = ignored if ignored < 0 else -1
    labels[-1:] = classes + draw.integers(2)
    return {"labels": labels}


def ignored_rows_are_bad(v: Values, draw: Generator) -> dict[str, Any]:
    """Every other row is ignored, and holds NaN or Inf, as padding may; so does its lse and dloss."""
    logits, labels, dloss = v["logits"].copy(), v["labels"].copy(), v["dloss"].copy()
    labels[::2] = v["ignore_index"]
    logits[::2] = draw.choice([np.nan, np.inf, -np.inf], (len(labels[::2]), 1))
    dloss[::2] = draw.choice([np.nan, np.inf, 1.0], len(labels[::2]))
    return _with(logits, labels=labels, dloss=dloss)


def far_from_zero(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows whose exponentials are all 0 or all infinite in float32: only their distance from lse is of use."""
    return _with(v["logits"] + draw.choice([-1e4, -120.0, 90.0, 1e3], (len(v["logits"]), 1)))


def certain(v: Values, draw: Generator) -> dict[str, Any]:
    """One logit far above the others: the label's in half of the rows, where the gradient is next to nothing."""
    logits = v["logits"].copy()
    if logits.size:
        columns = draw.integers(0, logits.shape[1], len(logits))
        sure = (draw.random(len(logits)) < 0.5) & (v["labels"] >= 0) & (v["labels"] < logits.shape[1])
        logits[np.arange(len(logits)), np.where(sure, v["labels"], columns)] = draw.choice([30.0, 1e3], len(logits))
    return _with(logits)


def masked(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows with -Inf in every second place, at the end, everywhere, and nowhere."""
    rows, classes = v["logits"].shape
    positions, kind = np.arange(classes), draw.integers(0, 4, (rows, 1))
    cut = draw.integers(0, classes + 1, (rows, 1))
    hidden = [np.broadcast_to(positions % 2 == 1, (rows, classes)), positions >= cut, positions >= 0, positions < 0]
    return _with(np.where(np.choose(kind, np.broadcast_arrays(*hidden)), -np.inf, v["logits"]))


def as_of_a_mean(v: Values, draw: Generator) -> dict[str, Any]:
    """dloss is the same for all rows, as the mean of the losses makes it."""
    return {"dloss": np.full_like(v["dloss"], 1.0 / max(1, len(v["dloss"])))}


def torch_cross_entropy_backward(v: Values) -> object:
    """PyTorch's backward kernels of nll_loss and log_softmax, from log-probabilities that are made again."""
    import torch

    aten = torch.ops.aten
    log_p = v["logits"] - v["lse"][:, None]
    total = torch.ones((), dtype=log_p.dtype, device=log_p.device)
    slopes = aten.nll_loss_backward(v["dloss"], log_p, v["labels"], None, 0, v["ignore_index"], total)
    return aten._log_softmax_backward_data.out(slopes, log_p, 1, log_p.dtype, out=v["dlogits"])


problem = Problem(
    name="cross_entropy_backward",
    title="Backward pass of cross-entropy, float32",
    parameters=(
        array("logits", "float32", "rows", "classes"),
        array("labels", "int64", "rows"),
        array("lse", "float32", "rows"),
        array("dloss", "float32", "rows"),
        array("dlogits", "float32", "rows", "classes", role="out"),
        size("rows"),
        size("classes"),
        scalar("ignore_index", "int64"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="4",
    arrange=arrange,
    zeros=("rows",),
    public=(
        {"rows": 5, "classes": 1024},
        {"rows": 6, "classes": 128},
        {"rows": 4, "classes": 1001},
        {"rows": 40, "classes": 75},
        {"rows": 2, "classes": 1},
    ),
    largest={"rows": 40, "classes": 5000},
    widest={"rows": 66_000, "classes": 70_000},
    special={
        "labels out of range": labels_out_of_range,
        "ignored rows are bad": ignored_rows_are_bad,
        "far from zero": far_from_zero,
        "certain": certain,
        "masked": masked,
        "as of a mean": as_of_a_mean,
    },
    tiles=(32, 128, 1024, 2048, 4096),
    observed={"rows": 8, "classes": 4096},
    timed={"rows": 2048, "classes": 128_256},
    flops="4*rows*classes",
    bytes="7*rows*classes+16*rows",  # a quarter of the rows is ignored, and need not be read
    pieces="rows",
    peers={"torch": Peer(torch_cross_entropy_backward)},
    torch_ops=("aten::_log_softmax_backward_data", "aten::nll_loss_backward"),
)
