"""The loss of a last layer whose logits are never all there: PyTorch's own value and gradients, in less memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from gridstride import ops
from gridstride.kernels.cross_entropy import linear

ROUNDING = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
SHAPES = [(5, 4, 7), (1, 1, 1), (300, 8, 17), (0, 4, 7), (260, 3, 1)]
"""Rows, their width, classes."""

every_reduction = pytest.mark.parametrize("reduction", ["mean", "sum"])
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)

Given = tuple[Tensor, Tensor, Tensor]


@pytest.fixture(autouse=True)
def _short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "_PIECE_BYTES", 1)  # 128 rows, then


def inputs(
    rows: int, width: int, classes: int, *, dtype: torch.dtype = torch.float64, device: str = "cpu", ignored: int = -100
) -> Given:
    generator = torch.Generator().manual_seed(5)
    hidden = torch.randn(rows, width, generator=generator, dtype=torch.float64)
    weight = torch.randn(classes, width, generator=generator, dtype=torch.float64)
    labels = torch.randint(classes, (rows,), generator=generator)
    labels = labels.masked_fill(torch.rand(rows, generator=generator) < 0.25, ignored)
    return hidden.to(device, dtype).requires_grad_(), weight.to(device, dtype).requires_grad_(), labels.to(device)


def torchs(hidden: Tensor, weight: Tensor, labels: Tensor, **how: object) -> Tensor:
    loss: Tensor = F.cross_entropy(F.linear(hidden, weight).flatten(0, -2), labels.flatten(), **how)
    return loss


def gradients(call: Callable[..., Tensor], given: Given, slope: float = 1.0, **how: object) -> list[Tensor]:
    hidden, weight, _ = given
    loss = call(*given, **how)
    return [loss.detach(), *torch.autograd.grad(loss * slope, (hidden, weight))]


def assert_near(got: Tensor, expected: Tensor, dtype: torch.dtype) -> None:
    error = (got.cpu().double() - expected.cpu()).abs().max().item() if expected.numel() else 0.0
    assert error <= ROUNDING[dtype] * max(expected.abs().max().item() if expected.numel() else 0.0, 1e-3), error


# -- on the CPU --------------------------------------------------------------------------------------------------------
@every_reduction
@every_shape
@pytest.mark.parametrize("ignored", [-100, 0])
def test_value_and_gradients_are_pytorchs(shape: tuple[int, int, int], reduction: str, ignored: int) -> None:
    given = inputs(*shape, ignored=ignored)
    how = {"reduction": reduction, "ignore_index": ignored}
    pairs = zip(
        gradients(ops.linear_cross_entropy, given, 3.0, **how), gradients(torchs, given, 3.0, **how), strict=True
    )
    for got, expected in pairs:
        torch.testing.assert_close(got, expected, equal_nan=True)


@every_reduction
def test_the_gradients_are_the_slopes(reduction: str) -> None:
    hidden, weight, labels = inputs(130, 2, 3)
    assert torch.autograd.gradcheck(
        lambda *given: ops.linear_cross_entropy(*given, labels, reduction=reduction), (hidden, weight), fast_mode=True
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
def test_pytorchs_own_rules(dtype: torch.dtype) -> None:
    for slopes in ((True, True), (True, False), (False, True), (False, False)):
        given = [each.detach() for each in inputs(150, 4, 9, dtype=dtype)]
        torch.library.opcheck(torch.ops.gridstride.linear_cross_entropy.default, (*given, -100, *slopes))


@pytest.mark.parametrize("wanted", [0, 1])
def test_one_input_alone_may_want_a_gradient(wanted: int) -> None:
    given = inputs(140, 4, 9)
    given[1 - wanted].requires_grad_(False)
    loss, expected = ops.linear_cross_entropy(*given), torchs(*given)
    torch.testing.assert_close(torch.autograd.grad(loss, given[wanted]), torch.autograd.grad(expected, given[wanted]))


def test_rows_have_any_leading_axes_and_a_row_has_none() -> None:
    hidden, weight, labels = inputs(12, 4, 9)
    flat = ops.linear_cross_entropy(hidden, weight, labels)
    assert torch.equal(ops.linear_cross_entropy(hidden.view(2, 3, 2, 4), weight, labels.view(2, 3, 2)), flat)
    one = ops.linear_cross_entropy(hidden[0], weight, torch.tensor(4))
    torch.testing.assert_close(one, F.cross_entropy(F.linear(hidden[0], weight), torch.tensor(4)))


def test_a_backward_pass_may_be_made_twice() -> None:
    hidden, weight, labels = inputs(9, 4, 9)
    loss = ops.linear_cross_entropy(hidden, weight, labels)
    once = torch.autograd.grad(loss, (hidden, weight), retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(loss, (hidden, weight)), once)


def test_short_dtypes_are_added_up_wide() -> None:
    """4,096 rows in 32 pieces: sums in bfloat16 would stop growing."""
    hidden, weight = torch.ones(4096, 1, dtype=torch.bfloat16), torch.zeros(2, 1, dtype=torch.bfloat16)
    weight.requires_grad_()
    loss = ops.linear_cross_entropy(hidden, weight, torch.zeros(4096, dtype=torch.int64), reduction="sum")
    (slope,) = torch.autograd.grad(loss, weight)
    assert slope.flatten().tolist() == [-2048.0, 2048.0]


def test_a_factor_is_not_rounded_to_a_short_dtype() -> None:
    hidden, weight, labels = inputs(100, 4, 9, dtype=torch.bfloat16, ignored=0)
    count = int((labels != -100).sum())
    mean, total = (
        gradients(ops.linear_cross_entropy, (hidden, weight, labels), reduction=each) for each in ("mean", "sum")
    )
    assert torch.equal(mean[1], (total[1].float() / count).bfloat16())


def test_autocast_takes_both_in_its_dtype() -> None:
    hidden, weight, labels = inputs(20, 4, 9, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        loss = ops.linear_cross_entropy(hidden, weight, labels)
    assert loss.dtype == torch.float32
    assert not torch.equal(loss, ops.linear_cross_entropy(hidden, weight, labels))
    slopes = torch.autograd.grad(loss, (hidden, weight))
    assert [each.dtype for each in slopes] == [torch.float32, torch.float32]


def test_under_torch_compile() -> None:
    given = inputs(150, 4, 9, dtype=torch.float32)
    compiled = torch.compile(ops.linear_cross_entropy, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(gradients(compiled, given), gradients(ops.linear_cross_entropy, given))


def test_pieces_are_of_about_one_length_and_hold_what_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "_PIECE_BYTES", 512 << 20)
    assert linear.rows_of_piece(8192, 151_936, 2) == 1664  # 1,664 are 505 MB; 1,792 are above 512 MiB
    assert linear.rows_of_piece(8192, 32_000, 2) == 8192
    assert linear.rows_of_piece(8500, 32_000, 2) == 4352
    assert linear.rows_of_piece(3, 1 << 30, 2) == 3
    assert linear.rows_of_piece(0, 32_000, 2) == 1


REFUSED: list[tuple[Callable[[Given], object], str]] = [
    (lambda g: ops.linear_cross_entropy(*g, reduction="none"), "reduction is 'none', not one of mean, sum"),
    (lambda g: ops.linear_cross_entropy(g[0], g[1][:, :3], g[2]), r"weight is .* not torch.float64 \[V, 4\] on cpu"),
    (lambda g: ops.linear_cross_entropy(g[0], g[1].float(), g[2]), "weight is torch.float32"),
    (lambda g: ops.linear_cross_entropy(g[0], g[1], g[2][1:]), r"target is .* not labels int64 \(6,\)"),
    (lambda g: ops.linear_cross_entropy(g[0], g[1], g[2].int()), "target is torch.int32"),
    (lambda g: ops.linear_cross_entropy(g[0].sum(), g[1], g[2]), "hidden is .* not a tensor of rows"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[message[:25] for _, message in REFUSED])
def test_what_it_cannot_is_refused_by_name(call: Callable[[Given], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(inputs(6, 4, 9))


def test_a_second_derivative_is_refused() -> None:
    hidden, weight, labels = inputs(6, 4, 9)
    loss = ops.linear_cross_entropy(hidden, weight, labels)
    with pytest.raises(NotImplementedError, match="no second derivative: for one use"):
        torch.autograd.grad(loss * hidden.sum(), hidden, create_graph=True)


# -- on a GPU ----------------------------------------------------------------------------------------------------------
@pytest.mark.gpu
@every_reduction
@every_shape
@pytest.mark.parametrize("dtype", list(ROUNDING), ids=str)
def test_a_gpu_agrees_with_float64(dtype: torch.dtype, shape: tuple[int, int, int], reduction: str) -> None:
    given = inputs(*shape, dtype=dtype, device="cuda")
    wide = [each.detach().cpu().double().requires_grad_() for each in given[:2]]
    expected = gradients(torchs, (wide[0], wide[1], given[2].cpu()), reduction=reduction)
    for got, right in zip(gradients(ops.linear_cross_entropy, given, reduction=reduction), expected, strict=True):
        if not right.isnan().any():
            assert_near(got, right, dtype)


@pytest.mark.gpu
def test_memory_stays_below_that_of_the_logits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "_PIECE_BYTES", 16 << 20)
    hidden, weight, labels = inputs(4096, 64, 32_000, dtype=torch.bfloat16, device="cuda")
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    ops.linear_cross_entropy(hidden, weight, labels).backward()
    assert torch.cuda.max_memory_allocated() - before < 4096 * 32_000 * 2 / 3


@pytest.mark.gpu
def test_a_cuda_graph_replays_it() -> None:
    hidden, weight, labels = (each.detach() for each in inputs(300, 8, 17, dtype=torch.float32, device="cuda"))
    ops.linear_cross_entropy(hidden, weight, labels)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = ops.linear_cross_entropy(hidden, weight, labels)
    hidden.mul_(2.0)
    graph.replay()
    torch.testing.assert_close(loss, torchs(hidden, weight, labels), rtol=1e-4, atol=1e-5)


def test_gradients_come_through_vmap() -> None:
    hidden, weight = (torch.randn(2, *shape, requires_grad=True) for shape in ((3, 4), (5, 4)))
    target = torch.tensor([0, 4, 2])
    losses = torch.func.vmap(lambda h, w: ops.linear_cross_entropy(h, w, target))(hidden, weight)
    apart = torch.stack([ops.linear_cross_entropy(h, w, target) for h, w in zip(hidden, weight, strict=True)])
    got, expected = (torch.autograd.grad(loss.sum(), (hidden, weight)) for loss in (losses, apart))
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(one, other)


def test_a_gradient_that_was_not_taken_with_the_loss_is_an_error() -> None:
    hidden, weight = torch.randn(3, 4, requires_grad=True), torch.randn(5, 4)
    labels = torch.tensor([0, 4, 2])
    loss, *_ = torch.ops.gridstride.linear_cross_entropy(hidden, weight, labels, -100, False, False)
    with pytest.raises(NotImplementedError, match="gradient of hidden was not taken with the loss"):
        loss.backward()
