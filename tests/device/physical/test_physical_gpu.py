"""The physical GPU, on one: launches, streams, PyTorch's tensors and streams, errors."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import threading

import numpy as np
import pytest

import gridstride as gs

pytestmark = pytest.mark.gpu

SOURCE = """
#include <cooperative_groups.h>
#include <cuda_fp16.h>
struct Pair { float a; int b; };
__constant__ float factor[2];
__device__ int counter;
__global__ void saxpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
template <typename T, int N> __global__ void scale(T* p) { p[threadIdx.x] *= N; }
__global__ void by_value(bool flag, half h, Pair pair, double* out) {
    out[0] = flag; out[1] = __half2float(h); out[2] = pair.a; out[3] = pair.b;
}
__global__ void reverse(int n, int* p) {
    extern __shared__ int copy[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) copy[i] = p[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] = copy[n - 1 - i];
}
__global__ void from_constant(float* p) { p[threadIdx.x] = factor[threadIdx.x]; }
__global__ void wait(long long ticks, int* done) {
    long long start = clock64();
    while (clock64() - start < ticks) {}
    *done = 1;
}
__global__ void meet(int* p) {
    p[blockIdx.x] = 1;
    cooperative_groups::this_grid().sync();
    if (blockIdx.x == 0) for (unsigned i = 1; i < gridDim.x; ++i) p[0] += p[i];
}
__global__ void rank(unsigned* p) { asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(p[blockIdx.x])); }
__global__ void bfloat(unsigned short* p) { p[threadIdx.x] += 0x80; }
"""


@pytest.fixture(scope="module")
def module(gpu):
    with gs.use(gpu):
        yield gs.cuda(SOURCE)


@pytest.fixture
def torch(gpu):
    return pytest.importorskip("torch")


def test_properties_are_those_of_the_chip(gpu):
    limits = gpu.properties
    assert limits.warp_size == 32
    assert limits.max_threads_per_block == 1024
    assert limits.max_block == (1024, 1024, 64)
    assert limits.arch.startswith("sm_")
    assert gpu.chip in gpu.name.lower().replace(" ", "")


def test_numpy_arrays_and_device_arrays(module):
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    module["saxpy"][4, 256](1000, 2.0, x, y)
    np.testing.assert_array_equal(y, 2 * x + 1)
    on_gpu = gs.to_device(y)
    module["saxpy"][4, 256](1000, 1.0, gs.to_device(x), on_gpu)
    np.testing.assert_array_equal(on_gpu.numpy(), 3 * x + 1)


def test_templates(module):
    doubles, bytes_ = np.arange(4.0), np.arange(4, dtype=np.uint8)
    module["scale<double, 3>"][1, 4](doubles)
    module["scale<unsigned char, 5>"][1, 4](bytes_)
    np.testing.assert_array_equal(doubles, [0, 3, 6, 9])
    np.testing.assert_array_equal(bytes_, [0, 5, 10, 15])


def test_values_of_every_kind(module):
    out = np.zeros(4)
    module["by_value"][1, 1](True, 0.5, struct.pack("fi", 2.25, -7), out)
    np.testing.assert_array_equal(out, [1, 0.5, 2.25, -7])


def test_more_than_48_kib_of_dynamic_shared_memory(gpu, module):
    n = gpu.properties.shared_per_block_optin // 4
    values = np.arange(n, dtype=np.int32)
    module["reverse"][1, 1024, 4 * n](n, values)
    np.testing.assert_array_equal(values, np.arange(n)[::-1])
    with pytest.raises(gs.LaunchError, match="bytes of shared memory"):
        module["reverse"][1, 1024, 4 * n + 4](n, values)


def test_constant_memory(module):
    module.symbol("factor", np.float32).copy_from(np.array([3, 4], np.float32))
    out = np.zeros(2, np.float32)
    module["from_constant"][1, 2](out)
    np.testing.assert_array_equal(out, [3, 4])


def test_cooperative_launch(gpu, module):
    blocks = gpu.properties.multiprocessors
    counts = np.zeros(blocks, np.int32)
    module["meet"].launch(grid=blocks, block=32, args=(counts,), cooperative=True)
    assert counts[0] == blocks
    with pytest.raises(gs.LaunchError, match="a cooperative grid must fit"):
        module["meet"].launch(grid=100_000, block=1024, args=(gs.empty(100_000, np.int32),), cooperative=True)


def test_cluster_launch(gpu, module):
    if not gpu.properties.max_cluster:
        pytest.skip(f"{gpu.name} has no clusters")
    ranks = np.full(8, 99, np.uint32)
    module["rank"].launch(grid=8, block=1, args=(ranks,), cluster=4)
    np.testing.assert_array_equal(ranks, [0, 1, 2, 3] * 2)


def test_streams_and_events(gpu, module):
    stream, start, end = gpu.stream(), gpu.event(), gpu.event()
    done = gs.to_device(np.zeros(1, np.int32))
    start.record(stream)
    module["wait"].launch(grid=1, block=1, args=(20_000_000, done), stream=stream)
    end.record(stream)
    assert not end.done
    stream.synchronize()
    assert end.done
    assert 1.0 < end.elapsed_ms(start) < 1000.0
    assert done.numpy()[0] == 1


def test_a_stream_waits_for_an_event(gpu, module):
    first, second, event = gpu.stream(), gpu.stream(), gpu.event()
    done, copy = gs.to_device(np.zeros(1, np.int32)), gs.to_device(np.zeros(1, np.float32))
    module["wait"].launch(grid=1, block=1, args=(20_000_000, done), stream=first)
    event.record(first)
    second.wait(event)
    module["saxpy"].launch(grid=1, block=1, args=(1, 1.0, copy, copy), stream=second)
    second.synchronize()
    assert event.done


def test_host_arrays_on_a_stream_are_back_when_the_launch_returns(gpu, module):
    done = np.zeros(1, np.int32)
    module["wait"].launch(grid=1, block=1, args=(5_000_000, done), stream=gpu.stream())
    assert done[0] == 1


def test_launches_from_another_thread(module):
    y = np.ones(4, np.float32)
    thread = threading.Thread(target=lambda: module["saxpy"].launch(grid=1, block=4, args=(4, 1.0, y, y)))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(y, [2, 2, 2, 2])


# PyTorch


def test_cuda_tensors_stay_where_they_are(torch, module):
    x, y = torch.arange(1000.0, device="cuda"), torch.ones(1000, device="cuda")
    address = y.data_ptr()
    module["saxpy"][4, 256](1000, 2.0, x, y)
    assert y.data_ptr() == address
    torch.testing.assert_close(y, 2 * x + 1)


def test_launches_follow_the_current_torch_stream(torch, module):
    done, stream = torch.zeros(1, dtype=torch.int32, device="cuda"), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        module["wait"][1, 1](50_000_000, done)
        assert not stream.query()
    stream.synchronize()
    assert done.item() == 1


def test_a_torch_stream_can_be_given(torch, module):
    done, stream = torch.zeros(1, dtype=torch.int32, device="cuda"), torch.cuda.Stream()
    torch.cuda.synchronize()
    module["wait"].launch(grid=1, block=1, args=(50_000_000, done), stream=stream)
    assert not stream.query()
    stream.synchronize()
    assert done.item() == 1


def test_cpu_tensors_are_copied_in_and_back(torch, module):
    y, bits = torch.ones(4), torch.ones(4, dtype=torch.bfloat16)
    module["saxpy"][1, 4](4, 1.0, y, y)
    assert y.tolist() == [2, 2, 2, 2]
    module["bfloat"][1, 4](bits.view(torch.uint16))
    assert bits.tolist() == [2, 2, 2, 2]


def test_torch_sees_a_device_array_without_a_copy(torch, module):
    array = gs.to_device(np.ones(4, np.float32))
    tensor = torch.as_tensor(array, device="cuda")
    module["saxpy"][1, 4](4, 1.0, array, tensor)
    torch.cuda.synchronize()
    assert array.numpy().tolist() == [2, 2, 2, 2]


def test_refused_tensors_are_named(torch, module):
    with pytest.raises(gs.LaunchError, match=r"saxpy: x is const float\*, an array of float64"):
        module["saxpy"][1, 4](4, 1.0, torch.ones(4, dtype=torch.float64, device="cuda"), None)
    with pytest.raises(gs.LaunchError, match="saxpy: x is not C-contiguous"):
        module["saxpy"][1, 4](4, 1.0, torch.ones(4, 4, device="cuda").T, None)


# Errors


def test_out_of_memory_is_said_and_passes(gpu, module):
    with pytest.raises(gs.OutOfDeviceMemory, match="the GPU is out of memory"):
        gs.empty(1 << 50, np.uint8)
    assert gs.to_device(np.ones(4)).numpy().sum() == 4


def test_ptx_of_a_newer_version_than_the_driver_loads_if_it_can(gpu, module):
    major, minor = gpu.newest_ptx
    newer = re.sub(r"\.version \d+\.\d+", f".version {major}.{minor + 1}", module.ptx)
    bits = np.zeros(1, np.uint16)
    with gs.use(gpu):
        gs.ptx(newer)["bfloat"][1, 1](bits)
    assert bits[0] == 0x80


def test_ptx_that_does_not_compile_gives_the_drivers_log(gpu):
    ptx = ".version 8.0\n.target sm_75\n.address_size 64\n.entry k() {\n  nonsense.u32 %r1, %r2;\n}\n"
    with gs.use(gpu), pytest.raises(gs.DeviceError, match=r"(?s)compiling bad.ptx.*line 5"):
        gs.ptx(ptx, filename="bad.ptx")


def test_ptx_of_another_chip_is_refused(gpu):
    ptx = ".version 8.0\n.target sm_999a\n.address_size 64\n.entry k() { ret; }\n"
    with gs.use(gpu), pytest.raises(gs.DeviceError, match="this PTX is for sm_999a"):
        gs.ptx(ptx)


def test_nothing_stays_allocated_after_a_refusal(gpu, module):
    import gc

    from gridstride.device.physical.driver import bindings

    def free_memory():
        gc.collect()
        with gpu.current():
            return bindings().cuMemGetInfo()[1]

    big = np.ones(1 << 24, np.float32)
    module["saxpy"][1, 32](32, 1.0, big, big)
    lost = []
    for _ in range(5):  # other processes take memory, too, at one time or another; what is lost here is so every time
        before = free_memory()
        with pytest.raises(gs.LaunchError):
            module["saxpy"][1, 32](2.5, 1.0, big, big)
        with pytest.raises(gs.LaunchError):
            module["saxpy"][1, 2000](32, 1.0, big, big)
        lost.append(before - free_memory())
    assert min(lost) < big.nbytes


FAULT = """
import numpy as np, gridstride as gs
with gs.use("physical"):
    kernel = gs.cuda("__global__ void bad(int* p) { FAULT; }")["bad"]
    array = gs.to_device(np.ones(4, np.int32))
    for attempt in range(2):
        try:
            kernel[1, 1](array)
            gs.device().synchronize()
        except gs.DeviceLost as lost:
            print(attempt, lost)
    try:
        array.numpy()
    except gs.DeviceLost as lost:
        print("copy", lost)
"""
FAULTS = [
    ("p[1ll << 40] = 1", "an address that is not allocated"),
    ("*(int*)((char*)p + 2) = 1", "not a multiple of the access size"),
    ("__trap()", "a kernel"),
]


@pytest.mark.parametrize(("statement", "message"), FAULTS, ids=["address", "alignment", "trap"])
def test_a_lost_context_is_said_plainly_each_time(gpu, statement, message):
    code = FAULT.replace("FAULT", statement)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[0] for line in lines] == ["0", "1", "copy"]
    assert all(message in line and "restart Python" in line for line in lines)
