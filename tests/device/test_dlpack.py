"""Device arrays for other libraries and theirs as device arrays, without a copy; what they hold that NumPy does not."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import gridstride as gs

ADD = "__global__ void add(float *x, float a) { x[threadIdx.x] += a; }"
DOUBLE = "__global__ void twice(__nv_bfloat16 *x) { x[threadIdx.x] = x[threadIdx.x] + x[threadIdx.x]; }"
DTYPES = ["bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))]
DTYPES += ["float16", "float32", "float64", "complex64", "complex128"]


@pytest.fixture
def torch(machine):
    torch = pytest.importorskip("torch")
    if machine.kind == "physical" and not torch.cuda.is_available():
        pytest.skip("this PyTorch is built without CUDA")
    return torch


def finish(machine, torch):
    """All work of both is done."""
    machine.synchronize()
    if machine.kind == "physical":
        torch.cuda.synchronize()


def test_torch_works_on_the_arrays_memory(machine, torch):
    d = gs.to_device(np.arange(32, dtype=np.float32))
    tensor = torch.from_dlpack(d)
    assert tensor.data_ptr() == d.address
    assert tensor.is_cuda == (machine.kind == "physical")
    tensor *= 2
    gs.cuda(ADD)["add"][1, 32](d, 1.0)
    finish(machine, torch)
    assert tensor.tolist() == d.numpy().tolist() == [2.0 * i + 1 for i in range(32)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_comes_back(machine, torch, dtype):
    host = np.arange(6).reshape(2, 3).astype(dtype)
    d = gs.to_device(host)
    tensor = torch.from_dlpack(d)
    assert str(tensor.dtype) == f"torch.{dtype}"
    back = gs.from_dlpack(tensor)
    assert (back.address, back.shape, back.dtype_name) == (d.address, (2, 3), dtype)
    np.testing.assert_array_equal(back.numpy(), host)


def test_bfloat16_tensors_go_in_and_out(machine, torch):
    tensor = torch.arange(8, dtype=torch.bfloat16)
    d = gs.to_device(tensor)
    assert repr(d).startswith("DeviceArray(bfloat16[8]")
    gs.cuda(f"#include <cuda_bf16.h>\n{DOUBLE}")["twice"][1, 8](d)
    other = torch.from_dlpack(d)
    assert (other.dtype, other.tolist()) == (torch.bfloat16, [2.0 * i for i in range(8)])
    assert gs.from_dlpack(other).dtype_name == d[2:].reshape(2, 3).dtype_name == "bfloat16"
    assert float(d[3]) == 6.0
    assert d.numpy().dtype == np.uint16
    d.copy_to(tensor)
    assert tensor[7] == 14
    d.copy_from(tensor * 2)
    assert d[7].item() == 28
    assert d.view("uint16").dtype_name == "uint16"
    assert d.view("uint16").view(torch.bfloat16)[1].item() == 4


def test_bfloat16_in_symbols_and_tensor_maps(machine, torch):
    module = gs.cuda("#include <cuda_bf16.h>\n__device__ __nv_bfloat16 table[4];\n" + DOUBLE)
    table = module.symbol("table", torch.bfloat16)
    table.copy_from(torch.arange(4, dtype=torch.bfloat16))
    assert torch.from_dlpack(gs.to_device(table)).tolist() == [0, 1, 2, 3]
    if machine.properties.compute_capability >= (9, 0):
        gs.tensor_map(gs.zeros((64, 64), "bfloat16"), (8, 8), fill="nan")


def test_bfloat16_and_other_dtypes_are_not_mixed_up(machine, torch):
    d = gs.zeros(8, torch.bfloat16)
    with pytest.raises(gs.LaunchError, match=r"add: x is float\*, an array of bfloat16 was given"):
        gs.cuda(ADD)["add"][1, 8](d, 1.0)
    with pytest.raises(ValueError, match=r"copy_from: float16\[8\] given, bfloat16\[8\] needed"):
        d.copy_from(np.zeros(8, np.float16))
    with pytest.raises(ValueError, match="texture: dtype bfloat16: the hardware has uint8"):
        gs.texture(d)
    with pytest.raises(ValueError, match="surface: dtype bfloat16: the hardware has uint8"):
        gs.surface(torch.zeros(4, 4, dtype=torch.bfloat16))


def test_the_memory_lives_as_long_as_who_took_it(machine, torch):
    d = gs.full(1000, 4.0)
    tensor, unused = torch.from_dlpack(d), d.__dlpack__()
    del d, unused
    gc.collect()
    gs.zeros(1000)
    assert (tensor == 4).all()


def test_arrays_without_elements_or_dimensions(machine, torch):
    assert torch.from_dlpack(gs.empty((0, 3))).shape == (0, 3)
    assert torch.from_dlpack(gs.full((), 7, np.int32)).item() == 7


def test_a_copy_can_be_asked_for(machine, torch):
    d = gs.zeros(4)
    tensor = torch.from_dlpack(d.__dlpack__(copy=True))
    tensor += 1
    finish(machine, torch)
    assert not d.numpy().any()


def test_another_place_is_refused(machine):
    with pytest.raises(BufferError, match=r"is on device \(\d, 0\) of DLPack's, \(4, 0\) was asked for"):
        gs.zeros(4).__dlpack__(dl_device=(4, 0))


def test_numpy_works_on_a_virtual_gpus_memory(virtual):
    with gs.use(virtual):
        d = gs.empty(32)
        host = np.from_dlpack(d)
        host[:] = 1  # which the sanitizer does not take for uninitialised
        gs.cuda(ADD)["add"][1, 32](d, 2.0)
        assert (host == 3).all()
        assert d.__dlpack_device__() == (1, 0)
        assert np.from_dlpack(d[8:16]).ctypes.data == d.address + 32
        used = virtual.arena.used
        del d
        gc.collect()
        assert virtual.arena.used == used
        del host
        gc.collect()
        assert virtual.arena.used == used - 128


def test_a_kernel_takes_a_tensor_over_a_virtual_gpus_memory_without_a_copy(virtual, monkeypatch):
    torch = pytest.importorskip("torch")
    with gs.use(virtual):
        tensor = torch.from_dlpack(gs.zeros(32))
        with monkeypatch.context() as patch:
            patch.setattr(gs.VirtualGPU, "allocate", lambda *_: pytest.fail("a copy was made"))
            gs.cuda(ADD)["add"][1, 32](tensor, 2.0)
        assert (tensor == 2).all()


def test_pinned_memory_is_taken(machine):
    pinned = gs.pinned((4, 8))
    d = gs.from_dlpack(pinned[1:])
    assert d.shape == (3, 8)
    gs.cuda(ADD)["add"][1, 24](d.reshape(-1), 2.0)
    machine.synchronize()
    assert (pinned[1:] == 2).all()
    assert not pinned[0].any()
    del pinned
    gc.collect()
    assert (d.numpy() == 2).all()


def test_ordinary_memory_is_not_taken(machine):
    with pytest.raises(
        ValueError, match=r"from_dlpack: the ndarray lies in host memory that kernels on .* do not reach: gs.to_device"
    ):
        gs.from_dlpack(np.zeros(4))


def test_what_is_not_contiguous_or_read_only_is_not_taken(machine):
    with pytest.raises(ValueError, match="from_dlpack: the ndarray is not C-contiguous"):
        gs.from_dlpack(gs.pinned((4, 4)).T)
    locked = gs.pinned(4)
    locked.flags.writeable = False
    with pytest.raises(ValueError, match=r"from_dlpack: the ndarray is not given away: .*readonly"):
        gs.from_dlpack(locked)


def test_what_has_no_dlpack(machine):
    with pytest.raises(TypeError, match=r"from_dlpack: a list has no __dlpack__: gs.to_device"):
        gs.from_dlpack([1, 2])


def test_elements_that_numpy_does_not_have(machine, torch):
    tensor = torch.from_dlpack(gs.zeros(4, np.uint8)).view(torch.float8_e4m3fn)
    with pytest.raises(
        (ValueError, BufferError), match=r"from_dlpack: (elements of the Tensor|the Tensor is not given)"
    ):
        gs.from_dlpack(tensor)


def test_elements_that_dlpack_does_not_have(machine):
    with pytest.raises(BufferError, match="DLPack only supports"):
        gs.to_device(np.zeros(4, [("a", np.int32), ("b", np.int32)])).__dlpack__()


@pytest.mark.gpu
def test_cuda_tensors(gpu):
    torch = pytest.importorskip("torch")
    with gs.use(gpu):
        tensor = torch.ones(32, device="cuda")
        d, copy = gs.from_dlpack(tensor), gs.to_device(tensor)
        assert d.address == tensor.data_ptr() != copy.address
        assert d.__dlpack_device__() == (2, gpu.ordinal)
        gs.cuda(ADD)["add"][1, 32](d, 1.0)
        torch.cuda.synchronize()
        assert (tensor == 2).all()
        assert (copy.numpy() == 1).all()
        bits = torch.arange(4, dtype=torch.bfloat16, device="cuda")
        assert gs.to_device(bits)[3].item() == 3
        with pytest.raises(ValueError, match="not C-contiguous"):
            gs.from_dlpack(torch.ones(4, 4, device="cuda").T)
    with gs.use(gs.VirtualGPU(workers=1)), pytest.raises(ValueError, match="is on cuda:0, kernels run on virtual h200"):
        gs.from_dlpack(tensor)


@pytest.mark.gpu
def test_who_takes_an_array_waits_for_the_work_on_it(gpu):
    torch = pytest.importorskip("torch")
    source = """__global__ void late(float *x) {
        long long start = clock64();
        while (clock64() - start < 100000000) {}
        *x = 1;
    }"""
    with gs.use(gpu):
        late, d = gs.cuda(source)["late"], gs.zeros(1)
        late[1, 1](d)
        d.copy_from(np.zeros(1, np.float32))
        taker = torch.cuda.Stream()
        with gs.stream():
            late[1, 1](d)
            with torch.cuda.stream(taker):
                copy = torch.from_dlpack(d).clone()
        taker.synchronize()
        assert copy.item() == 1
