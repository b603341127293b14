"""What every op refuses before anything is computed, in the same words on a CPU as on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tests.kernels.op_cases import CASES, Case, cached, normal
from torch import Tensor

from gridstride import ops

TENSORS = [
    (case, at)
    for case in CASES
    for at, argument in enumerate(case.op._schema.arguments)
    if "Tensor" in str(argument.type)
]
every_tensor = pytest.mark.parametrize(
    ("case", "at"), TENSORS, ids=[f"{case.name}-{case.arguments[at]}" for case, at in TENSORS]
)
FLOATS = [case for case in CASES if case.name not in ("sort_keys", "matmul_fp8")]


@every_tensor
def test_tensors_of_two_devices_are_never_mixed(case: Case, at: int) -> None:
    given = case.inputs()
    if sum(isinstance(x, Tensor) for x in given) > 1:
        given[at] = given[at].to("meta")
        with pytest.raises(ValueError, match=r" on (meta|cpu)"):
            case.op(*given)


@every_tensor
def test_a_tensor_with_one_axis_more_is_refused(case: Case, at: int) -> None:
    alone = case.name in ("gelu", "softmax", "silu_mul", "dropout", "layer_norm", "rms_norm") and at == 0
    if alone or case.name == "rotary":
        pytest.skip("takes any number of axes")
    given = case.inputs()
    given[at] = given[at][None]
    with pytest.raises(ValueError, match=r" is .* not "):
        case.op(*given)


@pytest.mark.parametrize("case", FLOATS, ids=lambda case: case.name)
@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.float8_e4m3fn, torch.complex64], ids=str)
def test_dtypes_without_a_kernel_are_refused(case: Case, dtype: torch.dtype) -> None:
    given = [x.to(dtype) if isinstance(x, Tensor) and x.is_floating_point() else x for x in case.inputs()]
    for call in (case.op, lambda *args: case.op(*(x.to("meta") if isinstance(x, Tensor) else x for x in args))):
        with pytest.raises((TypeError, ValueError), match=rf"{dtype}"):
            call(*given)


# -- functions ---------------------------------------------------------------------------------------------------------
X, Q = normal(3, 6), normal(1, 2, 3, 8)
ARRAY: Any = np.ones((3, 6), np.float32)
WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "gelu": (lambda: ops.gelu(None), "gelu: x is None, not a tensor"),
    "softmax": (lambda: ops.softmax([1.0]), "softmax: x is of type list, not a tensor"),
    "softmax dim": (lambda: ops.softmax(X, None), "softmax: dim is None, not a whole number"),
    "softmax dim 1.0": (lambda: ops.softmax(X, 1.0), "softmax: dim is of type float"),
    "layer_norm": (lambda: ops.layer_norm(ARRAY), "layer_norm: x is of type ndarray"),
    "layer_norm eps": (lambda: ops.layer_norm(X, eps=None), "layer_norm: eps is None, not a number"),
    "rms_norm": (lambda: ops.rms_norm(X, None, 1e-6), "rms_norm: weight is None"),
    "add_rms_norm": (lambda: ops.add_rms_norm(X, None, X[0], 1e-6), "add_rms_norm: delta is None"),
    "swiglu": (lambda: ops.swiglu(3, 3), "swiglu: gate is of type int"),
    "silu_mul": (lambda: ops.silu_mul(None), "silu_mul: gate_up is None"),
    "cross_entropy": (lambda: ops.cross_entropy(X, None), "cross_entropy: target is None"),
    "linear_cross_entropy": (lambda: ops.linear_cross_entropy(X, "w", X), "weight is 'w', not a tensor"),
    "attention": (lambda: ops.attention(None, Q, Q), "attention: q is None"),
    "attention past": (lambda: ops.attention(Q, Q, Q, past=0.5), "attention: past is of type float"),
    "varlen_attention": (lambda: ops.varlen_attention(Q, 1, Q, X, X, 1, 1), "varlen_attention: k is of type int"),
    "rotary": (lambda: ops.rotary(Q, None, None), "rotary: cosine is None"),
    "dropout p": (lambda: ops.dropout(X, "a"), "dropout: p is 'a', not a number"),
    "conv2d padding": (lambda: ops.conv2d(Q, Q, padding="same"), "conv2d: padding is 'same', not a whole number"),
    "conv2d stride": (lambda: ops.conv2d(Q, Q, stride=1.5), "conv2d: stride is 1.5, not a whole number"),
    "conv2d three": (lambda: ops.conv2d(Q, Q, dilation=(1, 1, 1)), r"conv2d: dilation is \(1, 1, 1\), not"),
    "conv2d groups": (lambda: ops.conv2d(Q, Q, groups=None), "conv2d: groups is None"),
    "paged_attention": (lambda: ops.paged_attention(*cached(), 3, scale=1.0), "paged_attention: lengths is of type i"),
    "paged_attention scale": (lambda: ops.paged_attention(*cached(), X, scale="1"), "scale is '1', not a number"),
    "sort_keys": (lambda: ops.sort_keys([3]), "sort_keys: keys is of type list"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_an_argument_of_another_type_is_named(name: str) -> None:
    call, message = WRONG[name]
    with pytest.raises(TypeError, match=message):
        call()


def test_numbers_of_numpy_are_numbers() -> None:
    weight = torch.ones(6)
    torch.testing.assert_close(ops.rms_norm(X, weight, np.float32(0.5)), ops.rms_norm(X, weight, 0.5))
    assert ops.softmax(X, np.int64(0)).shape == X.shape


SHAPES: dict[str, tuple[Callable[[], Any], str]] = {
    "silu_mul of odd width": (lambda: ops.silu_mul(normal(3, 5)), r"gate_up is .*, not contiguous \[\.\.\., 2H\]"),
    "silu_mul of a number": (lambda: ops.silu_mul(torch.tensor(1.0)), "gate_up is "),
    "add_rms_norm's delta": (lambda: ops.add_rms_norm(X.clone(), X[0], X[0], 1e-6), r"delta is .* as residual is"),
    "its dtype": (lambda: ops.add_rms_norm(X.clone(), X.half(), X[0], 1e-6), r"delta is torch\.float16"),
    "the same with a gradient": (
        lambda: ops.add_rms_norm(X.clone(), X[0], X[0].clone().requires_grad_(), 1e-6), "delta is .* as residual is",
    ),
    "attention's backward": (lambda: ops.attention(Q, Q, Q, backward="foo"), "backward is 'foo', not one of auto"),
    "skinny_gemm's columns": (lambda: ops.skinny_gemm(normal(3, 32), normal(5, 64)), r"weight is .* \[N, 32\]"),
    "skinny_gemm's rows": (lambda: ops.skinny_gemm(normal(200, 32), normal(5, 32)), "200 x 32 times 5 x 32: 1 to 128"),
    "skinny_gemm's step": (lambda: ops.skinny_gemm(normal(3, 31), normal(5, 31)), "a multiple of 32 columns"),
    "skinny_gemm's address": (lambda: ops.skinny_gemm(normal(33)[1:][None], normal(5, 32)), "x is .* 16 bytes"),
    "int64 tables": (lambda: paged(tables=torch.zeros(2, 2).long()), r"tables is torch\.int64"),
    "lengths of one": (lambda: paged(lengths=torch.ones(1).int()), r"lengths is .* not contiguous int32 \[2\]"),
    "heads": (lambda: paged(q=normal(2, 3, 64)), r"q is .* \[S, 2 \* G, 64\]"),
    "logits of one axis": (lambda: ops.sample(normal(4), *[torch.ones(1)] * 5), r"logits is .* \[M, V\]"),
    "no classes": (lambda: ops.sample(normal(1, 0), *[torch.ones(1)] * 5), r"logits is .* \[M, V\]"),
    "top_k's dtype": (lambda: ops.sample(normal(1, 4), *[torch.ones(1)] * 5), r"top_k is torch\.float32 "),
    "rotary_cache's tables": (lambda: rotary_cache(cosine=normal(32)), r"cosine is .* \[context, 32\]"),
    "softmax of a number": (lambda: torch.ops.gridstride.softmax(torch.tensor(1.0)), "x is .* a tensor of rows"),
}  # fmt: skip


def paged(**other: Tensor) -> Tensor:
    q, keys, values, tables = cached()
    given = {"q": q, "tables": tables, "lengths": torch.tensor([5, 8], dtype=torch.int32), **other}
    return ops.paged_attention(given["q"], keys, values, given["tables"], given["lengths"], scale=0.3)


def rotary_cache(**other: Tensor) -> Tensor:
    case = next(case for case in CASES if case.name == "rotary_cache")
    given = dict(zip(case.arguments, case.inputs(), strict=True)) | other
    return case.op(*given.values())


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_that_does_not_fit_is_named(name: str) -> None:
    call, message = SHAPES[name]
    with pytest.raises(ValueError, match=message):
        call()
