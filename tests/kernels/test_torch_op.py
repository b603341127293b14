"""How rungs are launched on tensors: numbers as the kernel's C types hold them."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import gridstride as gs
from gridstride.kernels import torch_op

NUMBERS = """extern "C" __global__ void numbers(long long* out, int i, unsigned int u, long long l,
                                   unsigned long long ul, size_t bytes, float f, double d)
{
    out[0] = i, out[1] = u, out[2] = l, out[3] = ul, out[4] = bytes, out[5] = f, out[6] = d;
}
"""


def numbers() -> tuple[torch_op.RungLauncher, gs.DeviceArray]:
    return torch_op.RungLauncher(gs.cuda(NUMBERS)["numbers"].bound()), gs.to_device(np.zeros(7, np.int64))


@pytest.mark.parametrize(
    "given",
    [(-1, 0, -(1 << 63), 0, 0, -2.0, -3.0), (2**31 - 1, 2**32 - 1, 2**63 - 1, 2**63, 2**40, 4.0, 2.0**60)],
    ids=["lowest", "highest"],
)
def test_numbers_arrive_as_their_c_types_hold_them(given: tuple[float, ...]) -> None:
    with gs.use(gs.VirtualGPU()):
        run, out = numbers()
        run((1, 1, 1), 1, out.address, *given)
        expected = [given[0], given[1], given[2], given[3] - (1 << 64 if given[3] >= 1 << 63 else 0), *given[4:]]
        assert out.numpy().tolist() == [int(value) for value in expected]


@pytest.mark.parametrize("given", [(1 << 31, 0), (0, -1), (0, 1 << 32)], ids=str)
def test_a_number_that_its_type_does_not_hold_is_refused(given: tuple[int, int]) -> None:
    with gs.use(gs.VirtualGPU()):
        run, out = numbers()
        with pytest.raises(struct.error, match=r"requires|out of range"):
            run((1, 1, 1), 1, out.address, *given, 0, 0, 0, 0.0, 0.0)
        assert not out.numpy().any()
