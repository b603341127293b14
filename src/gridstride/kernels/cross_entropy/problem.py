"""Cross-entropy of rows of logits with a label each, and the log-sum-exp that the backward pass starts from:
lse = log of the sum of e^x over the row, loss = lse - x[label].

A row whose label is `ignore_index` has loss 0 and lse 0, whatever its logits. A label that is neither that nor a class
(below 0, or not below `classes`) has the loss NaN: nothing may be read for it. As in PyTorch, a row with Inf or NaN has
loss and lse NaN; of nothing but -Inf the lse is -Inf; a label whose logit is -Inf beside finite ones costs Inf.
Logits may lie far from 0, at 1,000,000 say: there lse - x[label] has lost what the loss is, and (largest - x[label]) +
log of the sum has not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from gridstride.judge.problem import Array, Peer, Problem, Values, array, scalar, size

IGNORED = (-100, -100, -1, 0)  # what ignore_index is, by what was drawn; 0 is a class


def _parts(v: Values) -> tuple[Array, Array, Array, Array]:
    """Largest logit, powers from there down, the logarithm of their sum, and the label's distance from the largest."""
    x, labels = v["logits"], v["labels"]
    largest = np.max(x, axis=1, initial=-np.inf)
    powers = np.exp(x - np.where(largest == -np.inf, 0.0, largest)[:, None])
    is_class = (labels >= 0) & (labels < x.shape[1])
    picked = x[np.arange(len(x)), np.where(is_class, labels, 0)] if x.size else largest
    return largest, powers, np.log(np.sum(powers, axis=1)), np.where(is_class, largest - picked, np.nan)


def reference(v: Values) -> dict[str, Array]:
    """Each row by itself; the largest logit goes first, so that no exponential overflows."""
    with np.errstate(all="ignore"):
        largest, _, log_sum, distance = _parts(v)
        ignored = v["labels"] == v["ignore_index"]
        return {"loss": np.where(ignored, 0.0, distance + log_sum), "lse": np.where(ignored, 0.0, largest + log_sum)}


def magnitude(v: Values) -> dict[str, Array]:
    """What is added, 1 for the sum's own error, which the logarithm makes absolute, and what the powers' errors do to
    the sum: those are in proportion to how far an element lies below the largest. The loss has no part of the size of
    the logits: largest - x[label] is exact where they are close.
    """
    with np.errstate(all="ignore"):
        largest, powers, log_sum, distance = _parts(v)
        below = np.where(powers > 0, powers * abs(v["logits"] - largest[:, None]), 0.0)
        of_sum = 1.0 + abs(log_sum) + np.sum(below, axis=1) / np.sum(powers, axis=1)
        ignored = v["labels"] == v["ignore_index"]
        return {"loss": np.where(ignored, 0.0, abs(distance) + of_sum),
                "lse": np.where(ignored, 0.0, abs(largest) + of_sum)}  # fmt: skip


def arrange(v: Values) -> dict[str, Any]:
    """Labels that are classes, but for a quarter that is `ignore_index`."""
    ignore_index = IGNORED[v["ignore_index"] % len(IGNORED)]
    labels = v["labels"] % v["logits"].shape[1]
    return {"ignore_index": ignore_index, "labels": np.where((v["labels"] >> 40) % 4 == 0, ignore_index, labels)}


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
    """Every other row is ignored, and holds NaN or Inf, as padding may."""
    logits, labels = v["logits"].copy(), v["labels"].copy()
    labels[::2] = v["ignore_index"]
    logits[::2] = draw.choice([np.nan, np.inf, -np.inf], (len(labels[::2]), 1))
    return {"logits": logits, "labels": labels}


def far_below_zero(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows whose exponentials are all 0 in float32, or below what a maximum begins at that should have been -Inf."""
    spread, depth = np.array([(1.0, 120.0), (1.0, 1e4), (1e30, 1e33), (1e36, 2e38)]).T
    which = draw.integers(0, len(depth), (len(v["logits"]), 1))
    return {"logits": np.clip(v["logits"], -8, 8) * spread[which] - depth[which]}


def far_above_zero(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows whose exponentials are all infinite, and whose lse is far larger than the loss."""
    return {"logits": v["logits"] + draw.choice([90.0, 1e4, 1e6], (len(v["logits"]), 1))}


def certain(v: Values, draw: Generator) -> dict[str, Any]:
    """One logit far above the others: the label's in half of the rows, where the loss is next to nothing."""
    logits = v["logits"].copy()
    if logits.size:
        columns = draw.integers(0, logits.shape[1], len(logits))
        sure = (draw.random(len(logits)) < 0.5) & (v["labels"] >= 0) & (v["labels"] < logits.shape[1])
        columns = np.where(sure, v["labels"], columns)
        logits[np.arange(len(logits)), columns] = draw.choice([30.0, 1e3, 1e20], len(logits))
    return {"logits": logits}


def rising(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows that rise or fall: a running maximum changes with every element, or never."""
    order = np.sort(v["logits"] * 5, axis=1)
    return {"logits": np.where(draw.random((len(order), 1)) < 0.7, order, order[:, ::-1])}


def masked(v: Values, draw: Generator) -> dict[str, Any]:
    """Rows with -Inf at the end, at the beginning, in every second place, everywhere, and nowhere."""
    rows, classes = v["logits"].shape
    positions, cut = np.arange(classes), draw.integers(0, classes + 1, (rows, 1))
    kind = draw.integers(0, 5, (rows, 1))
    hidden = [
        positions >= cut,
        positions < cut,
        np.broadcast_to(positions % 2 == 1, (rows, classes)),
        positions >= 0,
        positions < 0,
    ]
    return {"logits": np.where(np.choose(kind, np.broadcast_arrays(*hidden)), -np.inf, v["logits"])}


def torch_cross_entropy(v: Values) -> object:
    """PyTorch's log_softmax and nll_loss."""
    import torch.nn.functional as F

    return v["loss"].copy_(F.cross_entropy(v["logits"], v["labels"], ignore_index=v["ignore_index"], reduction="none"))


problem = Problem(
    name="cross_entropy",
    title="Cross-entropy of rows of logits, float32",
    parameters=(
        array("logits", "float32", "rows", "classes"),
        array("labels", "int64", "rows"),
        array("loss", "float32", "rows", role="out"),
        array("lse", "float32", "rows", role="out"),
        size("rows"),
        size("classes"),
        scalar("ignore_index", "int64"),
    ),
    reference=reference,
    magnitude=magnitude,
    terms="classes+2",
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
        "far below zero": far_below_zero,
        "far above zero": far_above_zero,
        "certain": certain,
        "rising": rising,
        "masked": masked,
    },
    tiles=(32, 128, 1024, 2048, 4096),
    observed={"rows": 8, "classes": 4096},
    timed={"rows": 2048, "classes": 128_256},
    flops="5*rows*classes",
    bytes="3*rows*classes+16*rows",  # a quarter of the rows is ignored, and need not be read
    pieces="rows",
    peers={"torch.cross_entropy": Peer(torch_cross_entropy)},
    torch_ops=("aten::cross_entropy_loss", "aten::nll_loss_forward"),
)
