"""Pinned and managed arrays: NumPy's, in memory that kernels reach."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import gridstride as gs
from gridstride.device.mapped import is_mapped

ADD = "__global__ void add(const float *x, float *y) { y[threadIdx.x] += x[threadIdx.x]; }"
MAKERS = (gs.pinned, gs.managed)


@pytest.fixture(params=MAKERS, ids=["pinned", "managed"])
def make(request):
    return request.param


def test_a_kernel_works_on_the_arrays_memory_itself(machine, make, monkeypatch):
    x, y = make(32), make((4, 8))
    x[:] = np.arange(32)
    y += 1
    with monkeypatch.context() as patch:
        patch.setattr(type(machine), "allocate", lambda *_: pytest.fail("a copy was made"))
        gs.cuda(ADD)["add"][1, 32](x, y)
        machine.synchronize()
    np.testing.assert_array_equal(y.reshape(-1), np.arange(32) + 1)


def test_it_is_a_numpy_array_of_zeros(machine, make):
    a = make((2, 3), np.int64)
    assert type(a) is np.ndarray
    assert (a.shape, a.dtype, a.flags.writeable, a.flags.c_contiguous) == ((2, 3), np.int64, True, True)
    assert not a.any()
    assert make(0).shape == (0,)
    assert make((), "bfloat16").dtype == np.uint16


def test_slices_of_it_are_reached_too_and_other_arrays_copied(machine, make):
    add, a = gs.cuda(ADD)["add"], make((2, 32))
    a[0] = 5
    add[1, 32](a[0], a[1])
    machine.synchronize()
    assert (a[1] == 5).all()
    ordinary = np.ones(32, np.float32)
    add[1, 32](a[1], ordinary)
    assert (ordinary == 6).all()
    with pytest.raises(gs.LaunchError, match="not C-contiguous"):
        add[1, 16](a[0, ::2], a[1])


def test_torch_shares_it(machine, make):
    torch = pytest.importorskip("torch")
    a = make(32)
    tensor = torch.from_numpy(a)
    tensor += 2
    gs.cuda(ADD)["add"][1, 32](tensor, tensor)
    machine.synchronize()
    assert (a == 4).all()


def test_copies_to_and_from_it_in_a_stream(machine, make):
    a, b = make(1 << 16), make(1 << 16)
    a[:] = 3
    with gs.stream() as s:
        d = gs.to_device(a)
        d.copy_to(b)
    s.synchronize()
    assert (b == 3).all()


def test_its_memory_goes_with_the_last_slice(virtual, make):
    gc.collect()
    with gs.use(virtual):
        before, a = virtual.arena.used, make(1024)
        part = a[512:]
        address = a.ctypes.data
        del a
        gc.collect()
        assert part.sum() == 0
        assert is_mapped(virtual, address, 4096)
        assert not is_mapped(virtual, address, 4097)
        del part
        gc.collect()
        assert not is_mapped(virtual, address, 4)
        assert virtual.arena.used == before


def test_another_device_copies_it_as_any_array(virtual, make):
    with gs.use(virtual):
        a = make(32)
        a[:] = 1
    with gs.use(gs.VirtualGPU(workers=1)):
        gs.cuda(ADD)["add"][1, 32](a, a)
    assert (a == 2).all()


def test_the_sanitizer_sees_accesses_past_its_end(virtual, make):
    with gs.use(virtual), pytest.raises(gs.KernelFault, match="past the end"):
        gs.cuda(ADD)["add"][1, 64](make(32), gs.zeros(64))


def test_a_read_only_array_is_not_written(machine, make):
    a = make(32)
    a.flags.writeable = False
    with pytest.raises(gs.LaunchError, match=r"add: y is float.*, which the kernel may write to, and"):
        gs.cuda(ADD)["add"][1, 32](a, a)


def test_wrong_shapes_and_dtypes(machine, make):
    name = make.__name__
    with pytest.raises(ValueError, match=rf"{name}: shape \(-1,\) has a negative dimension"):
        make(-1)
    with pytest.raises(TypeError, match=rf"{name}: shape 2.5 is neither a whole number"):
        make(2.5)
    with pytest.raises(TypeError, match="dtype 'float31' is none of those that NumPy has"):
        make(2, "float31")
    with pytest.raises(ValueError, match="dtype object cannot go to a device"):
        make(2, object)


def test_more_than_there_is(virtual, make):
    with (
        gs.use(gs.VirtualGPU(workers=1, memory=1 << 20)),
        pytest.raises(gs.OutOfDeviceMemory, match="1048576 are free"),
    ):
        make(1 << 20)


@pytest.mark.gpu
def test_a_copy_from_pinned_memory_only_begins(gpu):
    """What goes to the stream first is a long kernel: a copy that waited would not return before it."""
    source = """__global__ void wait(long long ticks) {
        long long start = clock64();
        while (clock64() - start < ticks) {}
    }"""
    with gs.use(gpu):
        wait, a = gs.cuda(source)["wait"], gs.pinned(1024)
        a[:] = 7
        d = gs.zeros(1024)
        wait[1, 1](1)
        gpu.synchronize()
        with gs.stream() as s:
            wait[1, 1](200_000_000)
            d.copy_from(a)
            assert not s.done
        s.synchronize()
        assert (d.numpy() == 7).all()
