"""Cross-entropy as a PyTorch op: on the CPU by torch's own checks, on a GPU against float64."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gridstride import ops

ROUNDING = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
SHAPES = [(5,), (1, 1), (6, 9), (4, 7, 3), (2, 5, 3, 2), (0, 4)]

every_reduction = pytest.mark.parametrize("reduction", ["none", "mean", "sum"])


def inputs(
    *shape: int, dtype: torch.dtype = torch.float64, device: str = "cpu", ignored: int = -100
) -> tuple[Tensor, Tensor]:
    """Logits [N, C, …] and labels, about a quarter of them to be ignored."""
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(shape, generator=generator, dtype=torch.float64) * 3
    classes, rest = (shape[0], ()) if len(shape) == 1 else (shape[1], (shape[0], *shape[2:]))
    labels = torch.randint(classes, rest, generator=generator)
    hidden = torch.rand(rest, generator=generator) < (0.25 if rest else 0.0)
    return logits.to(device, dtype).requires_grad_(), labels.masked_fill(hidden, ignored).to(device)


def gradients(call: Callable[..., Tensor], logits: Tensor, labels: Tensor, **how: object) -> list[Tensor]:
    loss = call(logits, labels, **how)
    slope = torch.arange(1, loss.numel() + 1, device=loss.device, dtype=loss.dtype).view(loss.shape) / 8
    return [loss.detach(), *torch.autograd.grad(loss, logits, slope)]


def assert_near(got: Tensor, expected: Tensor) -> None:
    if expected.numel():
        error = (got.detach().cpu().double() - expected.detach().cpu()).abs().max().item()
        assert error <= ROUNDING[got.dtype] * max(1.0, expected.abs().max().item()), error


# -- on the CPU --------------------------------------------------------------------------------------------------------
@every_reduction
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("ignored", [-100, 0])
def test_value_and_gradient_are_pytorchs(shape: tuple[int, ...], reduction: str, ignored: int) -> None:
    given = inputs(*shape, ignored=ignored)
    how = {"reduction": reduction, "ignore_index": ignored}
    for got, expected in zip(gradients(ops.cross_entropy, *given, **how), gradients(F.cross_entropy, *given, **how),
                             strict=True):  # fmt: skip
        torch.testing.assert_close(got, expected, equal_nan=True)


@every_reduction
def test_the_gradient_is_the_slope(reduction: str) -> None:
    logits, labels = inputs(4, 5)
    assert torch.autograd.gradcheck(lambda x: ops.cross_entropy(x, labels, reduction=reduction), logits)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
def test_pytorchs_own_rules(dtype: torch.dtype) -> None:
    logits, labels = inputs(6, 9, dtype=dtype)
    torch.library.opcheck(torch.ops.gridstride.cross_entropy.default, (logits, labels, -100))
    logits = logits.detach()
    loss, lse = torch.ops.gridstride.cross_entropy(logits, labels, -100)
    torch.library.opcheck(
        torch.ops.gridstride.cross_entropy_backward.default, (torch.ones_like(loss), logits, labels, lse, -100)
    )


def test_bfloat16_is_computed_wide() -> None:
    logits, labels = inputs(6, 300, dtype=torch.bfloat16)
    wide = gradients(F.cross_entropy, logits.detach().double().requires_grad_(), labels)
    for got, expected in zip(gradients(ops.cross_entropy, logits, labels), wide, strict=True):
        assert got.dtype == torch.bfloat16
        assert_near(got, expected)


def test_one_graph_under_torch_compile() -> None:
    given = inputs(6, 9, dtype=torch.float32)
    compiled = torch.compile(ops.cross_entropy, fullgraph=True, backend="aot_eager")
    for got, expected in zip(gradients(compiled, *given), gradients(F.cross_entropy, *given), strict=True):
        torch.testing.assert_close(got, expected)


def test_tensors_that_are_not_contiguous() -> None:
    logits, labels = inputs(6, 20)
    for part in (logits[:, ::2], logits.t()[:6, :6], logits[:, 3:]):
        held = labels.clamp(max=part.shape[1] - 1)[:6]
        for got, expected in zip(gradients(ops.cross_entropy, part, held), gradients(F.cross_entropy, part, held),
                                 strict=True):  # fmt: skip
            torch.testing.assert_close(got, expected)


def test_padding_may_hold_anything() -> None:
    logits, labels = inputs(4, 5)
    logits, labels = logits.detach(), torch.tensor([1, -100, 2, -100])
    logits[1], logits[3] = torch.nan, torch.inf
    loss, slopes = gradients(ops.cross_entropy, logits.requires_grad_(), labels)
    assert loss.isfinite()
    assert slopes[[1, 3]].eq(0).all()


def test_a_module_stands_in_for_pytorchs() -> None:
    given = inputs(6, 9, ignored=0)
    ours, theirs = (kind(ignore_index=0, reduction="sum") for kind in (ops.CrossEntropyLoss, nn.CrossEntropyLoss))
    torch.testing.assert_close(ours(*given), theirs(*given))
    assert isinstance(ours, nn.CrossEntropyLoss)


def test_a_second_derivative_is_refused_by_name() -> None:
    logits, labels = inputs(4, 5)
    (slopes,) = torch.autograd.grad(ops.cross_entropy(logits, labels), logits, create_graph=True)
    with pytest.raises(NotImplementedError, match="gridstride::cross_entropy_backward has no derivative"):
        slopes.sum().backward()


def test_what_does_not_fit_is_refused_by_name() -> None:
    logits, labels = inputs(4, 5)
    labels = labels.clamp(min=0)
    with pytest.raises(IndexError, match=r"labels\[2\] is 5: it is neither a class, 0 to 4, nor ignore_index, -100"):
        ops.cross_entropy(logits, labels.index_fill(0, torch.tensor([2]), 5))
    with pytest.raises(ValueError, match=r"target is torch\.int32 \(4,\) on cpu, not labels int64 \(4,\)"):
        ops.cross_entropy(logits, labels.int())
    with pytest.raises(ValueError, match=r"target is torch\.int64 \(3,\) on cpu, not labels int64 \(4,\)"):
        ops.cross_entropy(logits, labels[:3])
    with pytest.raises(ValueError, match=r"target is torch\.float64 \(4, 5\)"):
        ops.cross_entropy(logits, logits)
    with pytest.raises(ValueError, match=r"label_smoothing is 0\.1: the kernel has none; torch\.nn\.functional"):
        ops.cross_entropy(logits, labels, label_smoothing=0.1)
    with pytest.raises(ValueError, match="weight is a tensor: the kernel has none"):
        ops.cross_entropy(logits, labels, torch.ones(5))
    with pytest.raises(ValueError, match="reduction is 'average', not one of none, mean, sum"):
        ops.cross_entropy(logits, labels, reduction="average")
    with pytest.raises(ValueError, match=r"logits is torch\.float32 \(3, 0\) on cpu, not \[rows, classes\]"):
        ops.cross_entropy(torch.ones(3, 0), torch.zeros(3, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"lse is torch\.float64 \(3,\) .*not torch\.float64 \[4\]"):
        torch.ops.gridstride.cross_entropy_backward(logits[:, 0], logits, labels, logits[:3, 0], -100)


# -- on a GPU ----------------------------------------------------------------------------------------------------------
@pytest.mark.gpu
@pytest.mark.parametrize("dtype", list(ROUNDING), ids=str)
@pytest.mark.parametrize(
    "shape", [(5, 1), (5, 75), (3000, 1001), (7, 50_257), (600, 2048), (4, 128_256), (0, 4)], ids=str
)
def test_against_float64_on_a_gpu(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    logits, labels = inputs(*shape, dtype=dtype, device="cuda")
    wide = logits.detach().cpu().double().requires_grad_()
    for reduction in ("none", "mean"):
        ours = gradients(ops.cross_entropy, logits, labels, reduction=reduction)
        theirs = gradients(F.cross_entropy, wide, labels.cpu(), reduction=reduction)
        for got, expected in zip(ours, theirs, strict=True):
            if not expected.isnan().any():
                assert_near(got, expected)


@pytest.mark.gpu
def test_a_label_out_of_range_is_nan_on_a_gpu() -> None:
    logits, _ = inputs(4, 5, dtype=torch.float32, device="cuda")
    loss, slopes = gradients(ops.cross_entropy, logits, torch.tensor([0, 5, -1, -100], device="cuda"), reduction="none")
    assert loss.isnan().tolist() == [False, True, True, False]
    assert slopes.isnan().all(1).tolist() == [False, True, True, False]


@pytest.mark.gpu
def test_under_torch_compile_on_a_gpu() -> None:
    given = inputs(33, 1001, dtype=torch.float32, device="cuda")
    compiled = torch.compile(lambda x, t: ops.cross_entropy(x * 2, t) + 1, fullgraph=True)
    eager = gradients(lambda x, t: F.cross_entropy(x * 2, t) + 1, *given)
    for got, expected in zip(gradients(compiled, *given), eager, strict=True):
        torch.testing.assert_close(got, expected)


@pytest.mark.gpu
def test_in_a_captured_graph_on_a_gpu() -> None:
    given = inputs(33, 1001, dtype=torch.float32, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # compiled before the capture, on another stream than the default one
        warm = gradients(ops.cross_entropy, *given)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = gradients(ops.cross_entropy, *given)
    for each in captured:
        each.zero_()
    graph.replay()
    for got, expected in zip(captured, warm, strict=True):
        torch.testing.assert_close(got, expected)


@pytest.mark.gpu
def test_pytorchs_own_rules_on_a_gpu() -> None:
    logits, labels = inputs(6, 64, dtype=torch.float16, device="cuda")
    torch.library.opcheck(torch.ops.gridstride.cross_entropy.default, (logits, labels, -100))


@pytest.mark.gpu
def test_more_logits_than_an_int_counts_on_a_gpu() -> None:
    rows, classes = 1025, 1 << 21
    if torch.cuda.mem_get_info()[0] < 5 * rows * classes:
        pytest.skip("needs 11 GB of free GPU memory")
    logits = torch.zeros(rows, classes, dtype=torch.bfloat16, device="cuda")
    labels = torch.full((rows,), classes - 1, device="cuda")
    logits[-1, -1] = 20.0
    loss = ops.cross_entropy(logits, labels, reduction="none")
    assert loss[0].item() == pytest.approx(14.556, rel=1e-2)
    assert loss[-1].item() < 0.01
