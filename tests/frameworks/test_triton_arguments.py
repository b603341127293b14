"""Arguments of a launch: None, truth values, tuples, numbers of all widths, reinterpreted tensors, descriptors."""

from __future__ import annotations

import pytest

import gridstride as gs

pytest.importorskip("triton", reason="Triton is not installed: pip install 'triton>=3.6'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

pytestmark = pytest.mark.usefixtures("triton_here")


@triton.jit
def optional_kernel(x_ptr, bias_ptr, y_ptr, n, negate, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    y = tl.load(x_ptr + i, mask=i < n)
    if bias_ptr is not None:
        y += tl.load(bias_ptr + i, mask=i < n)
    if negate:
        y = -y
    tl.store(y_ptr + i, y, mask=i < n)


@pytest.mark.parametrize("bias", [None, torch.full((50,), 3.0)], ids=["None", "tensor"])
@pytest.mark.parametrize("negate", [False, True])
def test_none_and_bool(bias, negate: bool) -> None:
    x, y = torch.arange(50.0), torch.zeros(50)
    optional_kernel[(1,)](x, bias, y, 50, negate, BLOCK=64)
    wanted = x if bias is None else x + 3
    assert torch.equal(y, -wanted if negate else wanted)


@triton.jit
def tuple_kernel(pair, y_ptr, extra, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(pair[0] + i) + pair[1] * tl.load(extra[0] + i))


def test_tuples_of_arguments() -> None:
    x, y, z = torch.arange(32.0), torch.zeros(32), torch.ones(32)
    tuple_kernel[(1,)]((x, 7), y, (z, None), BLOCK=32)
    assert torch.equal(y, x + 7)


@triton.jit
def number_kernel(y_ptr, small, large, real):
    tl.store(y_ptr, small.to(tl.float64))
    tl.store(y_ptr + 1, large.to(tl.float64))
    tl.store(y_ptr + 2, real)


def test_numbers_of_all_widths() -> None:
    y = torch.zeros(3, dtype=torch.float64)
    for small, large, real in [(-5, 1 << 40, 0.5), (3, 2**63, -2.0), (16, -(1 << 35), float("inf"))]:
        number_kernel[(1,)](y, small, large, real)
        assert y.tolist() == [small, large, real]


@triton.jit
def reinterpreted_kernel(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i).to(tl.float32))


def test_a_reinterpreted_tensor() -> None:
    values = torch.randn(64).to(torch.float8_e5m2)
    y = torch.zeros(64)
    reinterpreted_kernel[(1,)](triton.reinterpret(values.view(torch.int8), tl.float8e5), y, BLOCK=64)
    assert torch.equal(y, values.float())


@triton.jit
def descriptor_kernel(source, target, M: tl.constexpr, N: tl.constexpr):
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    target.store([row, column], source.load([row, column]) * 2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_tensor_descriptors(dtype: torch.dtype) -> None:
    x = torch.randn(40, 96).to(dtype)[:, :64]  # rows lie apart
    y = torch.zeros(40, 64, dtype=dtype)
    given = (TensorDescriptor.from_tensor(each, [16, 32]) for each in (x, y))
    descriptor_kernel[(3, 2)](*given, M=16, N=32)
    assert torch.equal(y, 2 * x)


def test_descriptors_that_are_refused() -> None:
    x = torch.zeros(16, 32)
    given = [TensorDescriptor.from_tensor(each, [16, 32]) for each in (x, x.clone())]
    older = gs.use(gs.VirtualGPU("a100", workers=1))
    with older, pytest.raises(gs.LaunchError, match=r"descriptor_kernel: source, target: .* need a chip with"):
        descriptor_kernel[(1, 1)](*given, M=16, N=32)
    given[0].round_f32_to_tf32 = True
    with pytest.raises(gs.LaunchError, match=r"descriptor_kernel: source has round_f32_to_tf32=True"):
        descriptor_kernel[(1, 1)](*given, M=16, N=32)
    halves = [TensorDescriptor.from_tensor(each.to(torch.bfloat16), [16, 32], padding="nan") for each in (x, x)]
    with pytest.raises(gs.LaunchError, match=r'source has padding="nan" for bfloat16'):
        descriptor_kernel[(1, 1)](*halves, M=16, N=32)


def test_what_lies_outside_of_a_descriptor_may_be_nan() -> None:
    x, y = torch.ones(20, 32), torch.zeros(32, 32)
    source = TensorDescriptor.from_tensor(x, [16, 32], padding="nan")
    descriptor_kernel[(2, 1)](source, TensorDescriptor.from_tensor(y, [16, 32]), M=16, N=32)
    assert torch.equal(y[:20], 2 * x)
    assert y[20:].isnan().all()


@triton.jit
def made_descriptor_kernel(x_ptr, y_ptr, m, n, M: tl.constexpr, N: tl.constexpr):
    source = tl.make_tensor_descriptor(x_ptr, [m, n], [n, 1], [M, N])
    target = tl.make_tensor_descriptor(y_ptr, [m, n], [n, 1], [M, N])
    row = tl.program_id(0) * M
    target.store([row, 0], source.load([row, 0]) + 1)


def test_descriptors_that_a_kernel_makes_have_scratch_memory() -> None:
    x, y = torch.randn(20, 32), torch.zeros(20, 32)
    made_descriptor_kernel[(2,)](x, y, 20, 32, M=16, N=32)
    assert torch.equal(y, x + 1)
