"""Gated SiLU and rotary positions as PyTorch ops: on the CPU by torch's own checks, on a GPU against float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from gridstride import ops

ROUNDING = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
"""Allowed error, in proportion to the largest value that should come out."""

every_dtype = pytest.mark.parametrize("dtype", list(ROUNDING), ids=lambda d: str(d).removeprefix("torch."))


def drawn(*shape: int, dtype: torch.dtype = torch.float64, device: str = "cpu", seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(device, dtype).requires_grad_()


def tables(*shape: int, dtype: torch.dtype = torch.float64, device: str = "cpu") -> tuple[Tensor, Tensor]:
    """Cosines and sines [..., S, D] of angles, the same in both halves."""
    angle = torch.rand(*shape[:-1], shape[-1] // 2, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    angle = (7 * angle).repeat(*[1] * (len(shape) - 1), 2)
    return angle.cos().to(device, dtype), angle.sin().to(device, dtype)


def as_transformers(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    low, high = x.chunk(2, dim=-1)
    return x * cosine.unsqueeze(-2) + torch.cat((-high, low), -1) * sine.unsqueeze(-2)


def gradients(call: Any, given: list[Tensor], *fixed: Tensor) -> list[Tensor]:
    y = call(*given, *fixed)
    dy = torch.randint(-16, 17, y.shape, generator=torch.Generator().manual_seed(9)).to(y.device, y.dtype) / 8
    return [y.detach(), *torch.autograd.grad(y, given, dy)]


def assert_all_near(got: list[Tensor], expected: list[Tensor]) -> None:
    for one, other in zip(got, expected, strict=True):
        if other.numel():
            error = (one.detach().cpu().double() - other.detach().cpu()).abs().max().item()
            assert error <= ROUNDING[one.dtype] * max(1.0, other.abs().max().item())


def wide(*given: Tensor) -> list[Tensor]:
    return [each.detach().cpu().double().requires_grad_(each.requires_grad) for each in given]


# -- on the CPU --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [(1,), (3, 7), (2, 3, 5), (0, 5)], ids=str)
def test_gated_silu_and_its_gradients_are_pytorchs(shape: tuple[int, ...]) -> None:
    given = [drawn(*shape), drawn(*shape, seed=1)]
    theirs = gradients(lambda gate, up: F.silu(gate) * up, given)
    for got, expected in zip(gradients(ops.swiglu, given), theirs, strict=True):
        torch.testing.assert_close(got, expected)


@pytest.mark.parametrize(
    ("shape", "table"), [((2, 5, 3, 8), (1, 5, 8)), ((2, 5, 3, 8), (2, 5, 8)), ((5, 1, 2), (5, 2)), ((0, 3, 4), (0, 4))]
)
def test_rotary_and_its_gradient_are_those_of_transformers(shape: tuple[int, ...], table: tuple[int, ...]) -> None:
    x, angles = drawn(*shape), tables(*table)
    theirs = gradients(as_transformers, [x], *angles)
    short = tuple(each[..., : shape[-1] // 2] for each in angles)
    for given in (angles, short):
        for got, expected in zip(gradients(ops.rotary, [x], *given), theirs, strict=True):
            torch.testing.assert_close(got, expected)
    torch.testing.assert_close(ops.rotary(ops.rotary(x, *angles), *angles, back=True), x)


def test_gradients_are_slopes() -> None:
    assert torch.autograd.gradcheck(ops.swiglu, [drawn(3, 4), drawn(3, 4, seed=1)])
    x, (cosine, sine) = drawn(2, 3, 2, 6), tables(1, 3, 6)
    assert torch.autograd.gradcheck(lambda x: ops.rotary(x, cosine, sine), [x])
    assert torch.autograd.gradgradcheck(lambda x: ops.rotary(x, cosine, sine), [x])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
def test_pytorchs_own_rules_for_ops(dtype: torch.dtype) -> None:
    pair = drawn(3, 16, dtype=dtype), drawn(3, 16, dtype=dtype, seed=1)
    torch.library.opcheck(torch.ops.gridstride.swiglu.default, pair)
    plain = [each.detach() for each in pair]
    torch.library.opcheck(torch.ops.gridstride.swiglu_backward.default, (plain[0], *plain))
    x, angles = drawn(2, 3, 2, 8, dtype=dtype), tables(1, 3, 8, dtype=dtype)
    torch.library.opcheck(torch.ops.gridstride.rotary.default, (x, *angles, True))


def test_tensors_that_are_not_contiguous() -> None:
    gate, up = drawn(6, 10), drawn(10, 6, seed=1)
    given = [gate[:, ::2], up.t()[:, 5:]]
    torch.testing.assert_close(ops.swiglu(*given), F.silu(given[0]) * given[1])
    x, angles = drawn(2, 3, 5, 8).transpose(1, 2), tables(1, 5, 8)
    torch.testing.assert_close(ops.rotary(x, *angles), as_transformers(x, *angles))


def test_one_graph_under_torch_compile() -> None:
    given = [drawn(4, 12, dtype=torch.float32), drawn(4, 12, dtype=torch.float32, seed=1)]
    compiled = torch.compile(ops.swiglu, fullgraph=True, backend="aot_eager")
    for got, expected in zip(gradients(compiled, given), gradients(ops.swiglu, given), strict=True):
        torch.testing.assert_close(got, expected)
    x, angles = drawn(2, 3, 2, 8, dtype=torch.float32), tables(1, 3, 8, dtype=torch.float32)
    compiled = torch.compile(ops.rotary, fullgraph=True, backend="aot_eager")
    for got, expected in zip(gradients(compiled, [x], *angles), gradients(ops.rotary, [x], *angles), strict=True):
        torch.testing.assert_close(got, expected)


def test_a_second_derivative_of_the_gate_is_refused_by_name() -> None:
    gate, up = drawn(2, 3), drawn(2, 3, seed=1)
    (dgate,) = torch.autograd.grad(ops.swiglu(gate, up).square().sum(), gate, create_graph=True)
    with pytest.raises(NotImplementedError, match="gridstride::swiglu_backward has no derivative"):
        dgate.sum().backward()


def test_what_does_not_fit_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"up is torch\.float64 \(3, 4\)"):
        ops.swiglu(drawn(3, 5), drawn(3, 4))
    x, (cosine, sine) = drawn(2, 3, 2, 8), tables(1, 3, 8)
    with pytest.raises(ValueError, match=r"x is .*\(3, 8\).*not \[\.\.\., S, H, D\] with an even D"):
        ops.rotary(x[0, :, 0], cosine, sine)
    with pytest.raises(ValueError, match=r"cosine is .*\(1, 2, 8\)"):
        ops.rotary(x, cosine[:, :2], sine)
    with pytest.raises(ValueError, match=r"sine is torch\.float32"):
        ops.rotary(x, cosine, sine.float())
    with pytest.raises(ValueError, match=r"sine is .*\(1, 3, 4\).*as cosine is"):
        ops.rotary(x, cosine, sine[..., :4])
    with pytest.raises(ValueError, match=r"cosine is .*not what has a gradient"):
        ops.rotary(x, cosine.requires_grad_(), sine)


# -- on a GPU ----------------------------------------------------------------------------------------------------------
@pytest.mark.gpu
@every_dtype
@pytest.mark.parametrize("shape", [(1,), (5, 31), (3, 4096), (7, 50_001), (0, 5)], ids=str)
def test_gated_silu_on_a_gpu(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    given = [drawn(*shape, dtype=dtype, device="cuda"), drawn(*shape, dtype=dtype, device="cuda", seed=1)]
    theirs = gradients(lambda gate, up: F.silu(gate) * up, wide(*given))
    assert_all_near(gradients(ops.swiglu, given), theirs)
    with torch.no_grad():
        assert_all_near([ops.swiglu(*given)], theirs[:1])


@pytest.mark.gpu
def test_gates_at_the_ends_on_a_gpu() -> None:
    gate = torch.tensor([-1e30, -200.0, -88.5, -30.0, 30.0, 88.5, 1e4], device="cuda")
    up = torch.full_like(gate, 3.0)
    torch.testing.assert_close(ops.swiglu(gate, up), F.silu(gate) * up)


@pytest.mark.gpu
@every_dtype
@pytest.mark.parametrize("width", [16, 64, 128, 256])
@pytest.mark.parametrize("batch", [1, 3])
def test_rotary_on_a_gpu(dtype: torch.dtype, width: int, batch: int) -> None:
    x, angles = drawn(3, 37, 5, width, dtype=dtype, device="cuda"), tables(batch, 37, width, dtype=dtype, device="cuda")
    theirs = gradients(as_transformers, wide(x), *wide(*angles))
    assert_all_near(gradients(ops.rotary, [x], *angles), theirs)
    short = tuple(each[..., : width // 2] for each in angles)
    assert_all_near(gradients(ops.rotary, [x.detach().transpose(1, 2).contiguous().transpose(1, 2).requires_grad_()],
                              *short), theirs)  # fmt: skip


@pytest.mark.gpu
def test_in_a_captured_graph_and_under_torch_compile_on_a_gpu() -> None:
    given = [drawn(33, 768, dtype=torch.float32, device="cuda", seed=seed) for seed in range(2)]
    eager = gradients(ops.swiglu, given)
    for got, expected in zip(gradients(torch.compile(ops.swiglu, fullgraph=True), given), eager, strict=True):
        torch.testing.assert_close(got, expected)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad():
        ops.swiglu(*given)
        with torch.cuda.graph(graph):
            out = ops.swiglu(*given)
    out.zero_()
    graph.replay()
    torch.testing.assert_close(out, eager[0])


@pytest.mark.gpu
def test_what_no_kernel_is_for_is_refused() -> None:
    with pytest.raises(TypeError, match=r"torch\.float64 is not one of"):
        ops.swiglu(drawn(2, 8, device="cuda"), drawn(2, 8, device="cuda"))
    x, angles = drawn(2, 3, 2, 6, dtype=torch.float32, device="cuda"), tables(1, 3, 6, dtype=torch.float32)
    with pytest.raises(ValueError, match=r"cosine is .* on cpu"):
        ops.rotary(x, *angles)
    with pytest.raises(ValueError, match="heads of a multiple of 8 numbers on a GPU"):
        ops.rotary(x, *(each.cuda() for each in angles))
