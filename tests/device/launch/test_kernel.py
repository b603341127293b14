"""What a launch makes of its arguments: scalars, arrays, copies, refusals."""

from __future__ import annotations

import ctypes
import gc

import numpy as np
import pytest

import gridstride as gs

SAXPY = """
extern "C" __global__ void saxpy(int n, float a, const float* __restrict__ x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""


def saxpy_on(device, n, a, x, y):
    bits = np.uint32(n).view(np.int32)
    device.array(y, bits)[:] += np.float32(a) * device.array(x, bits)


@pytest.fixture
def saxpy(fake):
    fake.run = saxpy_on
    return gs.cuda(SAXPY)["saxpy"]


# Arrays of the host


def test_numpy_arrays_hold_what_the_kernel_wrote(fake, saxpy):
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    saxpy[4, 256](1000, 2.0, x, y)
    np.testing.assert_array_equal(y, 2 * np.arange(1000) + 1)
    assert fake.launches[0].shape.grid == (4, 1, 1)
    assert fake.launches[0].shape.block == (256, 1, 1)


def test_nothing_stays_allocated_after_a_launch(fake, saxpy):
    saxpy[1, 32](4, 1.0, np.ones(4, "f4"), np.ones(4, "f4"))
    assert not fake.live


def test_const_pointers_are_not_copied_back(fake, saxpy):
    saxpy[1, 32](4, 1.0, np.ones(4, "f4"), np.ones(4, "f4"))
    assert len(fake.copied_in) == 2
    assert len(fake.copied_out) == 1


def test_a_read_only_array_goes_to_a_const_pointer_only(fake, saxpy):
    x, y = np.ones(4, "f4"), np.ones(4, "f4")
    x.flags.writeable = False
    saxpy[1, 32](4, 1.0, x, y)
    assert y[0] == 2
    with pytest.raises(gs.LaunchError, match=r"saxpy: y is float\*.*read-only"):
        saxpy[1, 32](4, 1.0, y, x)


def test_one_array_given_twice_is_one_buffer(fake, saxpy):
    y = np.arange(8, dtype=np.float32)
    saxpy[1, 32](8, 1.0, y, y)
    _, _, x_address, y_address = fake.launches[0].values
    assert x_address == y_address
    np.testing.assert_array_equal(y, 2 * np.arange(8))


def test_overlapping_views_keep_their_distance_in_one_buffer(fake, saxpy):
    whole = np.arange(10, dtype=np.float32)
    saxpy[1, 32](8, 1.0, whole[:8], whole[2:])
    _, _, x_address, y_address = fake.launches[0].values
    assert y_address - x_address == 8
    np.testing.assert_array_equal(whole, [0, 1, 2, 4, 6, 8, 10, 12, 14, 16])


def test_neighbouring_views_are_two_buffers(fake, saxpy):
    whole = np.arange(8, dtype=np.float32)
    saxpy[1, 32](4, 1.0, whole[:4], whole[4:])
    _, _, x_address, y_address = fake.launches[0].values
    assert x_address % 256 == y_address % 256 == 0
    np.testing.assert_array_equal(whole, [0, 1, 2, 3, 4, 6, 8, 10])


def test_an_empty_array_is_a_null_pointer(fake, saxpy):
    saxpy[1, 32](0, 1.0, np.empty(0, "f4"), None)
    assert fake.launches[0].values[2:] == (0, 0)
    assert not fake.live


def test_a_fault_leaves_nothing_allocated_and_the_array_as_it_was(fake, saxpy):
    def fault(*_):
        raise RuntimeError("fault")

    fake.run, y = fault, np.ones(4, "f4")
    with pytest.raises(RuntimeError, match="fault"):
        saxpy[1, 32](4, 1.0, np.ones(4, "f4"), y)
    assert not fake.live
    assert not fake.copied_out
    fake.run = saxpy_on
    saxpy[1, 32](4, 1.0, np.ones(4, "f4"), y)
    assert y[0] == 2


def test_running_out_of_memory_frees_what_was_staged(fake, saxpy):
    with pytest.raises(gs.OutOfDeviceMemory):
        saxpy[1, 32](4, 1.0, np.ones(4, "f4"), np.ones(1 << 20, "f4"))
    assert not fake.live
    assert not fake.launches


# Arrays of the device


def test_device_arrays_stay_where_they_are(fake, saxpy):
    x, y = gs.to_device(np.ones(4, "f4")), gs.to_device(np.zeros(4, "f4"))
    fake.copied_in.clear()
    saxpy[1, 32](4, 3.0, x, y)
    assert fake.copied_in == fake.copied_out == []
    np.testing.assert_array_equal(y.numpy(), [3, 3, 3, 3])


def test_an_array_of_another_device_is_refused(fake, second_fake, saxpy):
    x = gs.to_device(np.ones(4, "f4"), device=second_fake)
    with pytest.raises(gs.LaunchError, match="saxpy: x is on second fake, the kernel runs on fake"):
        saxpy[1, 32](4, 1.0, x, x)


def test_two_devices_of_one_name_are_told_apart(fake, second_fake, saxpy):
    second_fake.name = fake.name
    x = gs.to_device(np.ones(4, "f4"), device=second_fake)
    with pytest.raises(gs.LaunchError, match="saxpy: x is on another fake, the kernel runs on fake"):
        saxpy[1, 32](4, 1.0, x, x)


def test_of_a_masked_array_the_kernel_sees_the_data(fake, saxpy):
    x, y = np.ma.array(np.ones(4, "f4"), mask=[1, 0, 0, 0]), np.ones(4, "f4")
    saxpy[1, 32](4, 2.0, x, y)
    assert y.tolist() == [3.0] * 4


def test_a_device_array_of_the_wrong_dtype_is_refused(fake, saxpy):
    x = gs.empty(4, np.int32)
    with pytest.raises(gs.LaunchError, match=r"saxpy: x is const float\*, an array of int32 was given"):
        saxpy[1, 32](4, 1.0, x, x)


def test_a_cuda_array_of_another_library_cannot_go_to_a_virtual_gpu(fake, saxpy):
    class Foreign:
        def __init__(self):
            self.__cuda_array_interface__ = {"version": 3, "shape": (4,), "typestr": "<f4", "data": (4096, False)}

    with pytest.raises(gs.LaunchError, match="x is on cuda, the kernel runs on fake"):
        saxpy[1, 32](4, 1.0, Foreign(), None)


def test_an_address_is_taken_as_c_void_p_only(fake, saxpy):
    saxpy[1, 32](0, 1.0, ctypes.c_void_p(4096), None)
    assert fake.launches[0].values[2] == 4096
    with pytest.raises(gs.LaunchError, match=r"saxpy: x is const float\*, a int was given: pass an array"):
        saxpy[1, 32](0, 1.0, 4096, None)


def test_a_device_array_is_freed_with_its_last_reference(fake):
    array = gs.to_device(np.ones(4))
    assert len(fake.live) == 1
    del array
    gc.collect()
    assert not fake.live


# CPU tensors of PyTorch


def test_cpu_tensors_are_copied_in_and_back(fake, saxpy):
    torch = pytest.importorskip("torch")
    x, y = torch.arange(4.0, requires_grad=True), torch.ones(4)
    saxpy[1, 32](4, 2.0, x, y)
    assert y.tolist() == [1, 3, 5, 7]
    assert not fake.live


def test_a_tensor_that_wants_a_gradient_is_not_written_behind_autograds_back(fake, saxpy):
    torch = pytest.importorskip("torch")
    x, y = torch.ones(4), torch.ones(4, requires_grad=True)
    with pytest.raises(gs.LaunchError, match=r"saxpy: y is float\*, which the kernel may write to, and the tensor req"):
        saxpy[1, 32](4, 2.0, x, y)
    with torch.no_grad():
        saxpy[1, 32](4, 2.0, x, y)
    assert y.tolist() == [3, 3, 3, 3]


def test_autograd_refuses_to_use_a_saved_tensor_that_a_kernel_has_written(fake, saxpy):
    torch = pytest.importorskip("torch")
    x, y = torch.ones(4), torch.ones(4, requires_grad=True) * 1
    squares = y * y
    saxpy[1, 32](4, 2.0, x, y.detach())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        squares.sum().backward()


def test_versions_count_for_what_may_be_written_alone(fake, saxpy):
    torch = pytest.importorskip("torch")
    x, y = torch.ones(4), torch.ones(4)
    saxpy.launch(grid=1, block=32, args=(4, 2.0, x, y))
    assert (x._version, y._version) == (0, 1)
    with pytest.raises(gs.LaunchError):
        saxpy[1, 2048](4, 2.0, x, y)
    assert y._version == 1


def test_a_tensor_and_its_numpy_view_are_one_buffer(fake, saxpy):
    torch = pytest.importorskip("torch")
    y = torch.ones(4)
    saxpy[1, 32](4, 1.0, y.numpy(), y)
    assert fake.launches[0].values[2] == fake.launches[0].values[3]
    assert y.tolist() == [2, 2, 2, 2]


def test_bfloat16_may_come_as_its_bits_since_numpy_has_no_such_dtype(fake):
    kernel = gs.cuda("#include <cuda_bf16.h>\n__global__ void b(__nv_bfloat16* p) {}")["b"]
    kernel[1, 1](np.zeros(4, np.uint16))
    assert len(fake.launches) == 1


def test_bfloat16_tensors_need_no_numpy_dtype(fake):
    torch = pytest.importorskip("torch")
    kernel = gs.cuda("#include <cuda_bf16.h>\n__global__ void b(__nv_bfloat16* p) {}")["b"]
    kernel[1, 1](torch.ones(4, dtype=torch.bfloat16))
    with pytest.raises(gs.LaunchError, match=r"b: p is __nv_bfloat16\*, an array of float16 was given"):
        kernel[1, 1](torch.ones(4, dtype=torch.float16))


def test_tensors_that_are_no_plain_memory_are_refused(fake, saxpy):
    torch = pytest.importorskip("torch")
    with pytest.raises(gs.LaunchError, match="saxpy: x is not C-contiguous"):
        saxpy[1, 32](4, 1.0, torch.ones(4, 4).T, None)
    with pytest.raises(gs.LaunchError, match=r"saxpy: x is a torch.sparse_coo tensor, not a dense one"):
        saxpy[1, 32](4, 1.0, torch.ones(4).to_sparse(), None)


# Refused arrays

REFUSED = [
    (np.ones(4), "x is const float*, an array of float64 was given"),
    (np.ones(8, "f4")[::2], "x is not C-contiguous: pass np.ascontiguousarray"),
    (np.ones((2, 2), "f4").T, "x is not C-contiguous: pass np.asc"),
    (np.ones(4, ">f4"), "x has a foreign byte order (>f4)"),
    (np.array([None]), "x holds Python objects"),
    ([1.0, 2.0], "x is const float*, a list was given: pass an array"),
    (np.float32(1), "x is const float*, a float32 was given: pass an array"),
    ("text", "x is const float*, a str was given: pass an array"),
]


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=[message.split(":")[0] for _, message in REFUSED])
def test_a_refused_array_is_named_and_leaves_nothing(fake, saxpy, value, message):
    with pytest.raises(gs.LaunchError) as refused:
        saxpy[1, 32](4, 1.0, value, np.ones(4, "f4"))
    assert f"saxpy: {message}" in str(refused.value)
    assert not fake.live
    assert not fake.launches


# Scalars


# Counts


def test_a_wrong_count_shows_what_the_kernel_takes(fake, saxpy):
    with pytest.raises(
        gs.LaunchError, match=r"4 arguments \(int n, float a, const float\* x, float\* y\), 2 were given"
    ):
        saxpy[1, 32](4, 1.0)
    with pytest.raises(gs.LaunchError, match="5 were given"):
        saxpy[1, 32](4, 1.0, None, None, 0)


def test_a_kernel_without_parameters(fake):
    kernel = gs.cuda("__global__ void k() {}")["k"]
    kernel[1, 1]()
    assert fake.launches[0].values == ()
    with pytest.raises(gs.LaunchError, match="k takes no arguments, 1 were given"):
        kernel[1, 1](1)


# PTX without a source

PTX = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry twice(.param .u64 twice_param_0, .param .u64 .ptr .global .align 4 twice_param_1,
                      .param .u32 twice_param_2, .param .f32 twice_param_3, .param .align 8 .b8 twice_param_4[24])
{ ret; }
"""


def test_ptx_takes_what_its_types_allow(fake):
    kernel = gs.ptx(PTX)["twice"]
    y = np.ones(4, np.int16)
    kernel[1, 1](12345, y, -1, 2.0, bytes(24))
    assert fake.launches[0].values[0] == 12345
    assert fake.launches[0].values[2] == 2**32 - 1
    kernel[1, 1](y, y, 2**32 - 1, 2.0, bytes(24))
    assert fake.launches[1].values[0] == fake.launches[1].values[1]


def test_ptx_arguments_are_named_by_their_place(fake):
    kernel = gs.ptx(PTX)["twice"]
    with pytest.raises(gs.LaunchError, match=r"twice: argument 3 is u32, 1\.0 is a float"):
        kernel[1, 1](1, None, 1.0, 2.0, bytes(24))
    with pytest.raises(gs.LaunchError, match="twice: argument 2 is u64, a int was given: pass an array"):
        kernel[1, 1](1, 1, 1, 2.0, bytes(24))


def test_an_array_that_ptx_may_write_to_must_be_writable(fake):
    x = np.ones(4, np.float32)
    x.flags.writeable = False
    with pytest.raises(gs.LaunchError, match="argument 2 is u64, which the kernel may write to"):
        gs.ptx(PTX)["twice"][1, 1](1, x, 1, 2.0, bytes(24))
