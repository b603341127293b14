"""Scripts that use cuda.core and cuda.bindings, unmodified, on the virtual GPU."""

from __future__ import annotations

import pytest

from .scripts import BINDINGS, Run, printed

pytest.importorskip("numba_cuda", reason="pip install 'gridstride[numba]'")

pytestmark = pytest.mark.timeout(600)  # the first one builds the runtime library


# -- cuda.core and cuda.bindings --------------------------------------------------------------------------------------
def test_cuda_core_compiles_a_template_and_launches_it(script: Run) -> None:
    done = script(
        r"""
import numpy as np
from cuda.core import (Device, EventOptions, LaunchConfig, LegacyPinnedMemoryResource, Linker, LinkerOptions, Program,
                       ProgramOptions, launch)

code = '''
template <typename T> __global__ void saxpy(T a, const T *x, const T *y, T *out, size_t n) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = a * x[i] + y[i];
}'''
device = Device()
device.set_current()
stream = device.create_stream()
program = Program(code, code_type="c++", options=ProgramOptions(std="c++17", arch=f"sm_{device.arch}"))
module = program.compile("cubin", name_expressions=("saxpy<float>", "saxpy<double>"))
n, pinned = 1000, LegacyPinnedMemoryResource()
for name, dtype in (("saxpy<float>", np.float32), ("saxpy<double>", np.float64)):
    nbytes = n * np.dtype(dtype).itemsize
    hosts = [pinned.allocate(nbytes, stream=stream) for _ in range(3)]
    x, y, out = (np.from_dlpack(each).view(dtype) for each in hosts)
    x[:], y[:] = np.arange(n), 1
    devices = [device.memory_resource.allocate(nbytes, stream=stream) for _ in range(3)]
    for host, buffer in zip(hosts[:2], devices):
        host.copy_to(buffer, stream=stream)
    begin = stream.record(options=EventOptions(timing_enabled=True))
    launch(stream, LaunchConfig(grid=4, block=64), module.get_kernel(name), dtype(2), *devices, np.uint64(n))
    devices[2].copy_to(hosts[2], stream=stream)
    end = stream.record(options=EventOptions(timing_enabled=True))
    stream.sync()
    print(np.array_equal(out, 2 * x + 1), end - begin >= 0)

head = ProgramOptions(relocatable_device_code=True, arch=f"sm_{device.arch}")
pieces = [Program(text, "c++", options=head).compile("ptx") for text in (
    "__device__ int twice(int x) { return 2 * x; }",
    'extern __device__ int twice(int); extern "C" __global__ void run(int *x) { *x = twice(*x); }')]
linked = Linker(*pieces, options=LinkerOptions(arch=f"sm_{device.arch}")).link("cubin")
buffer = pinned.allocate(4, stream=stream)
number = np.from_dlpack(buffer).view(np.int32)
number[0] = 21
launch(stream, LaunchConfig(grid=1, block=1), linked.get_kernel("run"), buffer)
stream.sync()
print(number[0])
"""
    )
    assert printed(done) == ["True True", "True True", "42"]
    assert "Warning" not in done.stderr


def test_cuda_core_has_pools_of_the_host_and_managed_ones(script: Run) -> None:
    done = script(
        """
import numpy as np
from cuda.core import Device, ManagedMemoryResource, PinnedMemoryResource

device = Device()
device.set_current()
stream = device.create_stream()
for resource in (PinnedMemoryResource(), ManagedMemoryResource()):
    buffer = resource.allocate(64, stream=stream)
    buffer.fill(7, stream=stream)
    stream.sync()
    print(buffer.is_host_accessible, np.from_dlpack(buffer).view(np.uint8).tolist() == [7] * 64)
    buffer.close(stream)
"""
    )
    assert printed(done) == ["True True", "True True"]


def test_the_driver_and_nvrtc_by_hand(script: Run) -> None:
    done = script(
        BINDINGS
        + r"""
program = ok(nvrtc.nvrtcCreateProgram(b'extern "C" __global__ void fill(int *x, int v) { x[threadIdx.x] = v; }',
                                      b"fill.cu", 0, [], []))
ok(nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=sm_90"]))
cubin = b" " * ok(nvrtc.nvrtcGetCUBINSize(program))
ok(nvrtc.nvrtcGetCUBIN(program, cubin))
ok(driver.cuInit(0))
context = ok(driver.cuCtxCreate(None, 0, ok(driver.cuDeviceGet(0))))
function = ok(driver.cuModuleGetFunction(ok(driver.cuModuleLoadData(np.char.array(cubin))), b"fill"))
memory, host = ok(driver.cuMemAlloc(64)), np.zeros(16, np.int32)
ok(driver.cuLaunchKernel(function, 1, 1, 1, 16, 1, 1, 0, 0, ((memory, 7), (None, ctypes.c_int)), 0))
ok(driver.cuMemcpyDtoH(host, memory, 64))
print(host.tolist() == [7] * 16)
ok(driver.cuMemFree(memory))
print(driver.cuMemFree(memory)[0].name)
ok(driver.cuCtxDestroy(context))
"""
    )
    assert printed(done) == ["True", "CUDA_ERROR_INVALID_VALUE"]


def test_the_runtime_of_the_bindings_is_ours_and_what_is_not_there_is_refused_by_name(script: Run) -> None:
    done = script(
        BINDINGS
        + """
memory, host = ok(runtime.cudaMalloc(64)), np.arange(16, dtype=np.int32)
ok(runtime.cudaMemcpy(memory, host.ctypes.data, 64, runtime.cudaMemcpyKind.cudaMemcpyHostToDevice))
ok(runtime.cudaMemset(memory, 0, 32))
ok(runtime.cudaMemcpy(host.ctypes.data, memory, 64, runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost))
print(host.tolist(), ok(runtime.cudaGetDeviceCount()))
ok(runtime.cudaFree(memory))
print(runtime.cudaDeviceGetNvSciSyncAttributes(None, 0, 1)[0].name, driver.cuCheckpointProcessLock(1, None)[0].name)
""",
        "--gpus",
        "2",
    )
    assert printed(done) == [f"{[0] * 8 + list(range(8, 16))} 2", "cudaErrorNotSupported CUDA_ERROR_NOT_SUPPORTED"]
    assert "gridstride: cudaDeviceGetNvSciSyncAttributes is not supported: no other API shares" in done.stderr
    assert "gridstride: cuCheckpointProcessLock is not supported: a process cannot be kept" in done.stderr
