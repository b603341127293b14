"""Dropout as a PyTorch op: its mask, its gradient, and the same mask on every device."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import gridstride as gs
from gridstride import ops
from gridstride.judge.find import find
from gridstride.kernels.dropout.problem import numbers

SEED = (-(1 << 62) + 12_345, (1 << 32) - 3)  # its counter passes into the upper word after three steps


def seed(device: str = "cpu") -> Tensor:
    return torch.tensor(SEED, device=device)


def expected(x: Tensor, p: float) -> Tensor:
    values = {"x": x.detach().double().numpy().ravel(), "seed": np.array(SEED), "n": x.numel(), **numbers(p)}
    return torch.from_numpy(find("dropout").problem.reference(values)["y"]).view(x.shape)


# -- on the CPU --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", [(), (1,), (4099,), (3, 5, 7), (0, 3)], ids=str)
@pytest.mark.parametrize("p", [0.1, 0.5, 0.99])
def test_the_mask_is_that_of_the_ladder(shape: tuple[int, ...], p: float) -> None:
    x = torch.randn(shape)
    torch.testing.assert_close(ops.dropout(x, p, seed=seed()).double(), expected(x, p), rtol=1e-6, atol=0)


def test_the_kernel_has_the_same_mask() -> None:
    x, y = torch.randn(4099), torch.full((4099,), 7.0)
    file = find("dropout").rungs()[-1]
    with gs.use("virtual"):
        kernel = gs.cuda(file.source)[file.entry]
        kernel[3, 256](x, seed(), y, x.numel(), *numbers(0.3).values())
    torch.testing.assert_close(y, ops.dropout(x, 0.3, seed=seed()))


def test_the_share_that_is_dropped_and_the_mean_that_stays() -> None:
    torch.manual_seed(0)
    y = ops.dropout(torch.ones(200_000), 0.3)
    assert (y == 0).double().mean().item() == pytest.approx(0.3, abs=5 * (0.21 / 200_000) ** 0.5)
    assert y.max().item() == pytest.approx(1 / 0.7)


def test_pytorchs_generator_gives_the_seed() -> None:
    torch.manual_seed(4)
    first, second = ops.dropout(torch.ones(99)), ops.dropout(torch.ones(99))
    torch.manual_seed(4)
    assert torch.equal(ops.dropout(torch.ones(99)), first)
    assert not torch.equal(first, second)


def test_the_gradient_has_the_same_mask() -> None:
    x = torch.randn(40, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: ops.dropout(x, 0.4, seed=seed()), x)
    assert torch.autograd.gradgradcheck(lambda x: ops.dropout(x, 0.4, seed=seed()), x)
    y = ops.dropout(x, 0.4)
    (slopes,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(slopes == 0, y == 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
def test_pytorchs_own_rules(dtype: torch.dtype) -> None:
    x = torch.randn(3, 5, dtype=dtype, requires_grad=True)
    torch.library.opcheck(torch.ops.gridstride.dropout.default, (x, seed(), 0.3))


def test_one_graph_under_torch_compile() -> None:
    x = torch.randn(50, requires_grad=True)
    compiled = torch.compile(lambda x: ops.dropout(x * 2, 0.5) + 1, fullgraph=True, backend="aot_eager")
    y = compiled(x)
    (slopes,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(slopes == 0, y == 1)
    assert not torch.equal(compiled(x), y)


def test_the_ends_of_p_and_evaluation() -> None:
    x = torch.tensor([torch.inf, torch.nan, 1.0, 2.0])
    assert ops.dropout(x, 0.0) is x
    assert ops.dropout(x, 0.5, training=False) is x
    assert ops.dropout(x, 1.0).tolist() == [0, 0, 0, 0]


def test_what_is_dropped_is_zero_whatever_it_was() -> None:
    y = ops.dropout(torch.full((64,), torch.nan), 0.5, seed=seed())
    assert 0 < (y == 0).sum() < 64


def test_tensors_that_are_not_contiguous() -> None:
    x = torch.randn(6, 8)
    torch.testing.assert_close(ops.dropout(x.t(), 0.5, seed=seed()), ops.dropout(x.t().contiguous(), 0.5, seed=seed()))


def test_a_module_stands_in_for_pytorchs() -> None:
    layer = ops.Dropout(0.25)
    assert isinstance(layer, nn.Dropout)
    assert (layer(torch.ones(999)) == 0).any()
    layer.eval()
    assert torch.equal(layer(torch.ones(999)), torch.ones(999))


def test_what_does_not_fit_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"p is 1\.5: the share to be dropped is between 0 and 1"):
        ops.dropout(torch.ones(3), 1.5)
    with pytest.raises(ValueError, match=r"seed is torch\.int32 \(2,\) on cpu, not torch\.int64 \(2,\) on cpu"):
        ops.dropout(torch.ones(3), 0.5, seed=seed().int())
    with pytest.raises(TypeError, match=r"x: dtype torch\.int64 is not one of torch\.float16"):
        ops.dropout(torch.ones(3, dtype=torch.int64), 0.5)


# -- on a GPU ----------------------------------------------------------------------------------------------------------
@pytest.mark.gpu
@pytest.mark.parametrize("n", [0, 1, 1000, 4099, 1_000_003])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_the_same_elements_are_dropped_on_a_gpu(n: int, dtype: torch.dtype) -> None:
    x = torch.randn(n).to(dtype)
    got = ops.dropout(x.cuda(), 0.3, seed=seed("cuda")).cpu()
    torch.testing.assert_close(got, ops.dropout(x, 0.3, seed=seed()))


@pytest.mark.gpu
def test_arrays_that_begin_off_a_vector_on_a_gpu() -> None:
    x = torch.randn(1002)
    got = ops.dropout(x.cuda()[1:], 0.3, seed=seed("cuda")).cpu()
    torch.testing.assert_close(got, ops.dropout(x[1:], 0.3, seed=seed()))


@pytest.mark.gpu
def test_each_replay_of_a_graph_has_a_mask_of_its_own() -> None:
    x = torch.ones(1000, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        ops.dropout(x, 0.5)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = ops.dropout(x, 0.5)
    graph.replay()
    first = y.clone()
    graph.replay()
    assert not torch.equal(first, y)
