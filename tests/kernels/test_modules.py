"""The modules are built as PyTorch's are: the same parameters in the same order, or an error that names one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from gridstride import ops

NAMES = ("GELU", "Softmax", "LayerNorm", "RMSNorm", "CrossEntropyLoss", "Dropout")


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_pytorchs_in_their_order(name: str) -> None:
    ours, theirs = (list(inspect.signature(getattr(room, name)).parameters) for room in (ops, nn))
    assert ours == theirs


@pytest.mark.parametrize(
    "make",
    [
        lambda of: of.RMSNorm(5, 1e-3, True, None, torch.float64),
        lambda of: of.LayerNorm(5, 1e-3, True, False),
        lambda of: of.CrossEntropyLoss(None, None, 3, None, "sum", 0.0),
        lambda of: of.Dropout(0.5, False),
    ],
)
def test_they_are_given_by_position_too(make: Callable[[Any], nn.Module]) -> None:
    ours, theirs = make(ops), make(nn)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ops.CrossEntropyLoss(torch.ones(3)), ValueError, "weight is given"),
        (lambda: ops.CrossEntropyLoss(label_smoothing=0.1), ValueError, "label_smoothing is given"),
        (lambda: ops.CrossEntropyLoss(reduce=True), ValueError, "reduce is True: say reduction="),
        (lambda: ops.CrossEntropyLoss(reduction="x"), ValueError, "reduction is 'x', not one of none, mean, sum"),
        (lambda: ops.Dropout(0.5, True), ValueError, "inplace is True"),
        (lambda: ops.Dropout("a"), TypeError, "Dropout: p is 'a', not a number"),
        (lambda: ops.Softmax(None), TypeError, "Softmax: dim is None, not a whole number"),
        (lambda: ops.RMSNorm(5, 1e-3, False), ValueError, "elementwise_affine False"),
        (lambda: ops.AdamW([torch.ones(1)], 1e-3, (0.9, 0.9), 1e-8, 0.0, True), ValueError, "amsgrad is True"),
    ],
)
def test_what_the_kernels_have_not_is_refused_by_name(
    make: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make()
