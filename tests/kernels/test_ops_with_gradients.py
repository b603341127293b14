"""GELU, softmax and both norms as PyTorch ops: on the CPU by torch's own checks, on a GPU against float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gridstride import ops

ROUNDING = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
"""Allowed error, in proportion to the largest value that should come out of the same row or tensor."""

every_dtype = pytest.mark.parametrize("dtype", list(ROUNDING), ids=lambda d: str(d).removeprefix("torch."))


@dataclass(frozen=True)
class Op:
    """One op as a function of a tensor of rows and its parameters, and PyTorch's own."""

    name: str
    ours: Callable[..., Tensor]
    torchs: Callable[..., Tensor]
    parameters: int = 0  # tensors of a row's width besides

    def inputs(
        self, *shape: int, dtype: torch.dtype = torch.float64, seed: int = 0, device: str = "cpu"
    ) -> list[Tensor]:
        generator = torch.Generator().manual_seed(seed)
        shapes = [shape, *[shape[-1:]] * self.parameters]
        drawn = (torch.randn(each, generator=generator, dtype=torch.float64) for each in shapes)
        return [each.to(device, dtype).requires_grad_() for each in drawn]


OPS = (
    Op("gelu", ops.gelu, lambda x: F.gelu(x, approximate="tanh")),
    Op("softmax", ops.softmax, lambda x: torch.softmax(x, -1)),
    Op("layer_norm", ops.layer_norm, lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), 2),
    Op("rms_norm", lambda x, w: ops.rms_norm(x, w, 1e-5), lambda x, w: F.rms_norm(x, x.shape[-1:], w, 1e-5), 1),
)
every_op = pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
SHAPES = [(1, 1), (3, 7), (2, 3, 5), (4, 33), (0, 5), (5,)]


def gradients(call: Callable[..., Tensor], given: list[Tensor], dy: Tensor | None = None) -> list[Tensor]:
    """The result and the gradients of all inputs, by a dy of eighths, which every dtype holds."""
    y = call(*given)
    if dy is None:
        dy = torch.randint(-16, 17, y.shape, generator=torch.Generator().manual_seed(9)) / 8
    return [y.detach(), *torch.autograd.grad(y, given, dy.to(y.device, y.dtype))]


def schema_of(op: Op, given: list[Tensor]) -> tuple[object, tuple[object, ...]]:
    packet = getattr(torch.ops.gridstride, op.name).default
    return packet, (*given, 1e-5) if op.name.endswith("norm") else tuple(given)


# -- on the CPU --------------------------------------------------------------------------------------------------------
@every_op
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_value_and_gradients_are_pytorchs(op: Op, shape: tuple[int, ...]) -> None:
    ours, theirs = (gradients(call, op.inputs(*shape)) for call in (op.ours, op.torchs))
    for got, expected in zip(ours, theirs, strict=True):
        torch.testing.assert_close(got, expected)


@every_op
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (2, 3, 5)], ids=str)
def test_gradients_are_slopes(op: Op, shape: tuple[int, ...]) -> None:
    assert torch.autograd.gradcheck(op.ours, op.inputs(*shape))


@every_op
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
def test_pytorchs_own_rules_for_ops(op: Op, dtype: torch.dtype) -> None:
    torch.library.opcheck(*schema_of(op, op.inputs(3, 16, dtype=dtype)))


@pytest.mark.parametrize("name", ["gelu_backward", "softmax_backward"])
def test_pytorchs_own_rules_for_backward_ops(name: str) -> None:
    dy, x = torch.randn(3, 16), torch.randn(3, 16)
    torch.library.opcheck(getattr(torch.ops.gridstride, name).default, (dy, x))


def test_pytorchs_own_rules_for_the_rms_norms_backward_op() -> None:
    torch.library.opcheck(
        torch.ops.gridstride.rms_norm_backward.default, (torch.randn(3, 16), torch.randn(3, 16), torch.randn(16), 1e-5)
    )


def test_pytorchs_own_rules_for_the_layer_norms_backward_op() -> None:
    dy, x, weight = torch.randn(3, 16), torch.randn(3, 16), torch.randn(16)
    for given in (weight, None):
        torch.library.opcheck(
            torch.ops.gridstride.layer_norm_backward.default, (dy, x, given, torch.randn(3, 1), torch.rand(3, 1))
        )


def test_the_residual_stream_has_gradients_through_the_addition_in_place() -> None:
    residual, delta, weight = (
        torch.randn(each, dtype=torch.float64, requires_grad=True) for each in ((3, 8), (3, 8), 8)
    )
    ours, theirs = residual * 2, residual * 2 + delta
    y = ops.add_rms_norm(ours, delta, weight, 1e-5)
    torch.testing.assert_close(ours, theirs)
    expected = F.rms_norm(theirs, (8,), weight, 1e-5)
    given = (residual, delta, weight)
    got = torch.autograd.grad((y * y).sum() + ours.sum(), given)
    for one, other in zip(got, torch.autograd.grad((expected**2).sum() + theirs.sum(), given), strict=True):
        torch.testing.assert_close(one, other)


@every_op
def test_tensors_that_are_not_contiguous(op: Op) -> None:
    x, *rest = op.inputs(6, 10)
    for part in (x[:, ::2], x[1::2, 3:8], x.t()[:5].t(), x.expand(2, 6, 10)[..., 5:]):
        narrow = [each[:5] for each in rest]
        dy = torch.ones((), dtype=torch.float64).expand(part.shape)  # one number, with strides of 0
        ours, theirs = (gradients(call, [part, *narrow], dy) for call in (op.ours, op.torchs))
        for got, expected in zip(ours, theirs, strict=True):
            torch.testing.assert_close(got, expected)


@every_op
def test_bfloat16_is_computed_wide(op: Op) -> None:
    given = op.inputs(5, 64, dtype=torch.bfloat16)
    wide = [each.detach().double().requires_grad_() for each in given]
    for got, expected in zip(gradients(op.ours, given), gradients(op.torchs, wide), strict=True):
        assert got.dtype == torch.bfloat16
        assert_near(got, expected)


@every_op
def test_one_graph_under_torch_compile(op: Op) -> None:
    given = op.inputs(4, 12, dtype=torch.float32)
    compiled = torch.compile(op.ours, fullgraph=True, backend="aot_eager")
    for got, expected in zip(gradients(compiled, given), gradients(op.torchs, given), strict=True):
        torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("op", OPS[:2], ids=lambda op: op.name)
def test_a_second_derivative_is_refused_by_name(op: Op) -> None:
    (x,) = op.inputs(2, 3)
    (dx,) = torch.autograd.grad(op.ours(x).square().sum(), x, create_graph=True)
    with pytest.raises(NotImplementedError, match=f"gridstride::{op.name}_backward has no derivative"):
        dx.sum().backward()


def test_the_norms_statistics_have_no_derivative() -> None:
    x, weight, bias = OPS[2].inputs(2, 3)
    y, mean, rstd = torch.ops.gridstride.layer_norm(x, weight, bias, 1e-5)
    assert [each.requires_grad for each in (y, mean, rstd)] == [True, False, False]


def test_a_norm_with_and_without_weight_and_bias() -> None:
    x, weight, bias = OPS[2].inputs(3, 8)
    for w, b in ((None, None), (weight, None), (None, bias)):
        given = [each for each in (x, w, b) if each is not None]
        got = torch.autograd.grad(ops.layer_norm(x, w, b, 1e-3).square().sum(), given)
        expected = torch.autograd.grad(F.layer_norm(x, (8,), w, b, 1e-3).square().sum(), given)
        for one, other in zip(got, expected, strict=True):
            torch.testing.assert_close(one, other)


def test_softmax_along_any_axis() -> None:
    x = torch.randn(3, 4, 5)
    for dim in range(-3, 3):
        torch.testing.assert_close(ops.softmax(x, dim), torch.softmax(x, dim))


def test_what_does_not_fit_is_refused_by_name() -> None:
    x = torch.randn(3, 4)
    with pytest.raises(ValueError, match="dim is 2, and x has 2 axes"):
        ops.softmax(x, 2)
    with pytest.raises(ValueError, match=r"weight is torch\.float32 \(3,\) on cpu, not torch\.float32 \(4,\)"):
        ops.layer_norm(x, torch.ones(3))
    with pytest.raises(ValueError, match=r"bias is torch\.float64"):
        ops.layer_norm(x, torch.ones(4), torch.zeros(4).double())
    with pytest.raises(ValueError, match=r"dy is torch\.float32 \(4, 3\)"):
        torch.ops.gridstride.gelu_backward(x.t(), x)
    with pytest.raises(ValueError, match="approximate is 'none'"):
        ops.GELU("none")


@pytest.mark.parametrize(
    ("module", "original"),
    [
        (ops.GELU(), nn.GELU("tanh")),
        (ops.Softmax(), nn.Softmax(-1)),
        (ops.Softmax(1), nn.Softmax(1)),
        (ops.LayerNorm(6), nn.LayerNorm(6)),
        (ops.LayerNorm((4, 6), eps=1e-2), nn.LayerNorm((4, 6), eps=1e-2)),
        (ops.LayerNorm(6, bias=False), nn.LayerNorm(6, bias=False)),
        (ops.LayerNorm(6, elementwise_affine=False), nn.LayerNorm(6, elementwise_affine=False)),
    ],
    ids=str,
)
def test_modules_stand_in_for_pytorchs(module: nn.Module, original: nn.Module) -> None:
    for parameter in original.parameters():
        nn.init.normal_(parameter)
    module.load_state_dict(original.state_dict())
    x = torch.randn(3, 4, 6)
    torch.testing.assert_close(module(x), original(x))
    assert isinstance(module, type(original))


# -- on a GPU ----------------------------------------------------------------------------------------------------------
def assert_near(got: Tensor, expected: Tensor) -> None:
    """Within the dtype's rounding of the largest value."""
    if expected.numel():
        error = (got.detach().cpu().double() - expected.detach().cpu()).abs().max().item()
        assert error <= ROUNDING[got.dtype] * max(1.0, expected.abs().max().item()), error


WIDTHS = [1, 3, 31, 64, 129, 1000, 1024, 4096, 5000, 16_384, 20_000, 50_001]


def against_float64(op: Op, given: list[Tensor]) -> None:
    """Value and gradients on the GPU beside the same from the same inputs in float64 on the CPU."""
    wide = [each.detach().cpu().double().requires_grad_() for each in given]
    for got, expected in zip(gradients(op.ours, given), gradients(op.torchs, wide), strict=True):
        assert got.is_cuda
        assert got.dtype == given[0].dtype
        assert_near(got, expected)


@pytest.mark.gpu
@every_op
@every_dtype
@pytest.mark.parametrize("width", WIDTHS)
def test_odd_widths_on_a_gpu(op: Op, dtype: torch.dtype, width: int) -> None:
    against_float64(op, op.inputs(5, width, dtype=dtype, device="cuda"))


@pytest.mark.gpu
@every_op
@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0,), (2, 3, 7), (70_000, 3)], ids=str)
def test_empty_and_many_rows_on_a_gpu(op: Op, shape: tuple[int, ...]) -> None:
    against_float64(op, op.inputs(*shape, dtype=torch.float32, device="cuda"))


@pytest.mark.gpu
@every_op
@pytest.mark.parametrize("width", [1024, 40_000])
def test_arrays_that_begin_off_a_vector_on_a_gpu(op: Op, width: int) -> None:
    flat = op.inputs(5 * width + 1, dtype=torch.float32, device="cuda")[0].detach()
    rest = op.inputs(5, width, dtype=torch.float32, device="cuda", seed=1)[1:]
    against_float64(op, [flat[1:].view(5, width).requires_grad_(), *rest])


@pytest.mark.gpu
@every_op
def test_tensors_that_are_not_contiguous_on_a_gpu(op: Op) -> None:
    x, *rest = op.inputs(64, 96, dtype=torch.float32, device="cuda")
    against_float64(
        op, [x.detach().t()[:, 8:40].requires_grad_(), *[each.detach()[:32].requires_grad_() for each in rest]]
    )


@pytest.mark.gpu
@pytest.mark.parametrize("width", [5, 4096, 40_000])
def test_special_rows_of_softmax_on_a_gpu(width: int) -> None:
    x = torch.randn(6, width, device="cuda")
    x[0], x[1, 1:], x[2, 3], x[3, 3], x[4, 2] = -torch.inf, -torch.inf, torch.inf, torch.nan, 3e38
    torch.testing.assert_close(ops.softmax(x).cpu(), torch.softmax(x.cpu(), -1), equal_nan=True)


@pytest.mark.gpu
@every_op
def test_under_torch_compile_on_a_gpu(op: Op) -> None:
    given = op.inputs(33, 768, dtype=torch.float32, device="cuda")
    compiled = torch.compile(lambda *each: op.ours(each[0] * 2, *each[1:]) + 1, fullgraph=True)
    eager = gradients(lambda *each: op.ours(each[0] * 2, *each[1:]) + 1, given)
    for got, expected in zip(gradients(compiled, given), eager, strict=True):
        torch.testing.assert_close(got, expected)


@pytest.mark.gpu
@every_op
@pytest.mark.parametrize("width", [768, 40_000])
def test_in_a_captured_graph_on_a_gpu(op: Op, width: int) -> None:
    given = op.inputs(33, width, dtype=torch.float32, device="cuda")
    dy = torch.randn(33, width, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # kernels are compiled before the capture, on another stream than the default one
        warm = gradients(op.ours, given, dy)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = gradients(op.ours, given, dy)
    for each in captured:
        each.zero_()
    graph.replay()
    for got, expected in zip(captured, warm, strict=True):
        torch.testing.assert_close(got, expected)


@pytest.mark.gpu
@every_op
def test_pytorchs_own_rules_on_a_gpu(op: Op) -> None:
    torch.library.opcheck(*schema_of(op, op.inputs(3, 64, dtype=torch.float16, device="cuda")))


@pytest.mark.gpu
@every_op
def test_a_dtype_without_a_kernel_is_refused(op: Op) -> None:
    with pytest.raises(TypeError, match=r"torch\.float64 is not one of"):
        op.ours(*op.inputs(2, 8, device="cuda"))


@pytest.mark.gpu
def test_gelu_of_more_elements_than_an_int_counts() -> None:
    many = (1 << 31) + 5
    if torch.cuda.mem_get_info()[0] < 8 * many:
        pytest.skip("needs 17 GB of free GPU memory")
    x = torch.zeros(many, dtype=torch.bfloat16, device="cuda")
    x[-1], x[-many // 2] = 1.0, -1.0
    y = ops.gelu(x)
    assert y[-1].item() == pytest.approx(0.8412, rel=1e-2)
    assert y[-many // 2].item() == pytest.approx(-0.1588, rel=1e-2)
    assert y.count_nonzero().item() == 2


@pytest.mark.gpu
@every_op
def test_tensors_on_a_second_gpu(op: Op) -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    with torch.cuda.device(0):
        against_float64(op, op.inputs(5, 1000, dtype=torch.float32, device="cuda:1"))
