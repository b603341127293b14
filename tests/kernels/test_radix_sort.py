"""sort_keys as a PyTorch op, and its kernel for each kind of key on the virtual GPU."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import gridstride as gs
from gridstride import ops
from gridstride.judge.find import find

DTYPES = {torch.int32: 1, torch.float32: 2}
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def keys(n: int, dtype: torch.dtype, device: str = "cpu") -> Tensor:
    """Anything that fits 32 bits; of floats also both infinities, zeros and NaNs of both signs."""
    bits = torch.randint(-(1 << 31), 1 << 31, (n,), generator=torch.Generator().manual_seed(5)).to(torch.int32)
    return bits.to(device).view(dtype)


def assert_sorted(got: Tensor, given: Tensor) -> None:
    torch.testing.assert_close(got.cpu(), given.cpu().sort().values, rtol=0, atol=0, equal_nan=True)


@every_dtype
@pytest.mark.parametrize("n", [0, 1, 100, 5000])
def test_it_sorts_as_pytorch_does(dtype: torch.dtype, n: int) -> None:
    assert_sorted(ops.sort_keys(keys(n, dtype)), keys(n, dtype))


@pytest.mark.slow
@every_dtype
def test_the_kernel_for_each_kind_of_key(dtype: torch.dtype) -> None:
    given, ordered = keys(9001, dtype), torch.empty(9001, dtype=dtype)
    file = find("radix_sort").rungs()[-1]
    with gs.use(gs.VirtualGPU("h200", sanitize=True)):
        kernel = gs.cuda(file.source, [f"-DKIND={DTYPES[dtype]}"])[file.entry]
        bits = [each.view(torch.int32).numpy().view("u4") for each in (given, ordered)]
        scratch = torch.empty(9001 + 1024 * 4, dtype=torch.int32).numpy().view("u4")
        shape = file.launch.shape({"n": 9001, "SMS": 132})
        args = (*bits, scratch, 9001)
        kernel.launch(grid=shape.grid, block=shape.block, args=args, shared=shape.shared, cooperative=True)
    assert_sorted(ordered, given)


@every_dtype
def test_pytorchs_own_rules(dtype: torch.dtype) -> None:
    torch.library.opcheck(torch.ops.gridstride.sort_keys.default, (keys(20, dtype),))


def test_tensors_that_are_not_contiguous() -> None:
    given = keys(40, torch.int32)[::3]
    assert_sorted(ops.sort_keys(given), given)


def test_what_does_not_fit_is_refused_by_name() -> None:
    with pytest.raises(
        ValueError, match=r"keys is torch\.int64 \(3,\) on cpu, not torch\.int32 or torch\.float32 \[n\]"
    ):
        ops.sort_keys(torch.arange(3))
    with pytest.raises(ValueError, match=r"keys is torch\.float32 \(2, 2\)"):
        ops.sort_keys(torch.ones(2, 2))
    with pytest.raises(NotImplementedError, match=r"gridstride::sort_keys has no derivative.*torch\.sort"):
        ops.sort_keys(torch.ones(3, requires_grad=True)).sum().backward()


@pytest.mark.gpu
@every_dtype
@pytest.mark.parametrize("n", [0, 1, 4096, 1_000_003, 1 << 24])
def test_it_sorts_on_a_gpu(dtype: torch.dtype, n: int) -> None:
    assert_sorted(ops.sort_keys(keys(n, dtype, "cuda")), keys(n, dtype))


@pytest.mark.gpu
def test_few_values_and_orders_on_a_gpu() -> None:
    given = torch.randint(3, (100_001,), dtype=torch.int32, device="cuda")
    for each in (given, given.sort().values, given.sort(descending=True).values):
        assert_sorted(ops.sort_keys(each), each)
