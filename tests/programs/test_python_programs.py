"""Whole Python programs, unmodified, on the virtual GPU: numba.cuda, cuda.core, cuda.bindings as users write them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from gridstride.programs.python.library_names import library_folder
from gridstride.programs.toolchain.wheels import Toolchain

pytest.importorskip("numba_cuda", reason="pip install 'gridstride[numba]'")
pytestmark = pytest.mark.timeout(600)  # the first one builds the runtime library

Run = Callable[..., subprocess.CompletedProcess[str]]

NUMBA = """
import numpy as np
from numba import cuda, config
config.CUDA_LOW_OCCUPANCY_WARNINGS = config.CUDA_WARN_ON_IMPLICIT_COPY = 0
"""


@pytest.fixture(scope="session")
def libraries(tools: Toolchain) -> Path:
    """The runtime library, which the first program builds."""
    return library_folder(tools, progress=lambda _: None)


@pytest.fixture
def script(libraries: Path, tmp_path: Path) -> Run:
    """Writes text to prog.py and runs it: `script(text, *words, arguments=())`, with words for gridstride before it."""

    def run(text: str, *words: str, arguments: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        (tmp_path / "prog.py").write_text(text)
        command = [sys.executable, "-m", "gridstride", "run", *words, "prog.py", "--", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)

    return run


def printed(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Its lines, of a program that ended well."""
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


# -- what is the interpreter's ----------------------------------------------------------------------------------------
def test_a_script_is_main_with_its_arguments_folder_and_status(script: Run, tmp_path: Path) -> None:
    done = script(
        "import sys, os\nprint(__name__, __file__, sys.argv[1:], sys.path[0] == os.getcwd(), file=sys.stderr)\n"
        "print([p for p in sys.path if 'programs' in p])\nsys.exit(7)",
        arguments=("--json", "4"),
    )
    assert (done.returncode, done.stdout) == (7, "[]\n")
    assert f"__main__ {tmp_path / 'prog.py'} ['--json', '4'] True" in done.stderr


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="in no virtual environment, beside which to start")
def test_a_command_that_only_its_folder_knows_has_a_gpu_all_the_same(libraries: Path, tmp_path: Path) -> None:
    """`python -m gridstride` in a checkout's src: the script's process is started in no such folder."""
    (tmp_path / "prog.py").write_text("from cuda.bindings import driver\nprint(driver.cuInit(0))")
    command = [sys._base_executable, "-m", "gridstride", "run", str(tmp_path / "prog.py")]  # type: ignore[attr-defined]
    environment = os.environ | {"PYTHONPATH": sysconfig.get_path("purelib")}
    source = Path(__file__).parents[2] / "src"
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, timeout=600)
    assert printed(done) == ["(<CUresult.CUDA_SUCCESS: 0>,)"]


def test_an_exception_that_nobody_catches_is_the_interpreters_traceback_and_status_1(script: Run) -> None:
    done = script("def f():\n    raise ValueError('no')\nf()")
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == "ValueError: no"
    assert "gridstride" not in done.stderr.replace("gridstride/prog.py", "")


def test_an_import_that_fails_has_a_hint_behind_its_traceback(script: Run) -> None:
    done = script("import cupy_that_is_not_there, sys")
    assert "hint" not in done.stderr
    done = script("raise ModuleNotFoundError(\"No module named 'cupy'\", name='cupy')")
    assert done.stderr.splitlines()[-2:] == [
        "ModuleNotFoundError: No module named 'cupy'",
        "gridstride: hint: CuPy is linked with NVIDIA's static runtime, which the virtual GPU cannot stand in for",
    ]


def test_a_process_that_the_script_starts_has_a_gpu_too_and_ctrl_c_is_pythons(script: Run) -> None:
    done = script(
        "import os, signal, subprocess, sys\n"
        "code = 'from cuda.bindings import driver; driver.cuInit(0); print(driver.cuDeviceGetCount()[1])'\n"
        "print(subprocess.run([sys.executable, '-c', code], capture_output=True, text=True).stdout, end='')\n"
        "try:\n    signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt:\n    print('caught')"
    )
    assert printed(done) == ["1", "caught"]


def test_a_process_that_is_forked_behind_cuinit_has_none(script: Run) -> None:
    done = script(
        """
import os
from cuda.bindings import driver

for before in (False, True):
    if before:
        driver.cuInit(0)
    if (child := os.fork()) == 0:
        os._exit(int(driver.cuInit(0)[0]))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    )
    assert printed(done) == ["0", "3"]  # CUDA_ERROR_NOT_INITIALIZED


# -- numba.cuda -------------------------------------------------------------------------------------------------------
def test_vectors_are_added(script: Run) -> None:
    done = script(
        NUMBA
        + """
@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]

x = np.arange(1000, dtype=np.float32)
out = np.zeros_like(x)
add[(x.size + 127) // 128, 128](x, 2 * x, out)
print(np.array_equal(out, 3 * x))

@cuda.jit
def hello():
    print("thread", cuda.threadIdx.x)

print("before")
hello[1, 2]()
cuda.synchronize()
print("after")
"""
    )
    assert printed(done) == ["True", "before", "thread 0", "thread 1", "after"]
    assert done.stderr == ""


def test_a_grid_of_two_dimensions_and_a_device_function(script: Run) -> None:
    done = script(
        NUMBA
        + """
@cuda.jit(device=True)
def escapes(c, most):
    z = 0j
    for n in range(most):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag > 4:
            return n
    return most

@cuda.jit
def mandelbrot(image, most):
    x, y = cuda.grid(2)
    if x < image.shape[1] and y < image.shape[0]:
        image[y, x] = escapes(complex(-2 + 3 * x / image.shape[1], -1 + 2 * y / image.shape[0]), most)

image = np.zeros((20, 30), dtype=np.int32)
mandelbrot[(2, 3), (16, 8)](image, 50)
print(image[10, 20], image[0, 0], (image == 50).sum() > 50)
"""
    )
    assert printed(done) == ["50 0 True"]


def test_a_reduction_in_shared_memory_and_one_of_numbas(script: Run) -> None:
    done = script(
        NUMBA
        + """
@cuda.jit
def block_sums(x, out):
    shared = cuda.shared.array(128, np.float64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    shared[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    step = 64
    while step > 0:
        if t < step:
            shared[t] += shared[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(out, 0, shared[0])

x = cuda.to_device(np.arange(1000.0))
out = cuda.to_device(np.zeros(1))
block_sums[8, 128](x, out)
add = cuda.reduce(lambda a, b: a + b)
print(out.copy_to_host()[0], add(x))
"""
    )
    assert printed(done) == ["499500.0 499500.0"]


def test_a_histogram_by_atomics(script: Run) -> None:
    done = script(
        NUMBA
        + """
@cuda.jit
def count(values, bins):
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(bins, values[i], 1)

values = np.random.default_rng(1).integers(0, 16, 5000)
bins = cuda.to_device(np.zeros(16, dtype=np.int32))
count[4, 64](values, bins)
print(np.array_equal(bins.copy_to_host(), np.bincount(values, minlength=16)))
"""
    )
    assert printed(done) == ["True"]


def test_a_stencil_with_two_buffers(script: Run) -> None:
    done = script(
        NUMBA
        + """
@cuda.jit
def heat(old, new, k):
    i = cuda.grid(1)
    if 0 < i < old.size - 1:
        new[i] = old[i] + k * (old[i - 1] - 2 * old[i] + old[i + 1])

rod = np.zeros(200)
rod[90:110] = 1
a, b = cuda.to_device(rod), cuda.to_device(rod)
for _ in range(20):
    heat.forall(rod.size)(a, b, 0.25)
    a, b = b, a
for _ in range(20):
    rod[1:-1] = rod[1:-1] + 0.25 * (rod[:-2] - 2 * rod[1:-1] + rod[2:])
print(np.allclose(a.copy_to_host(), rod))
"""
    )
    assert printed(done) == ["True"]


def test_a_matrix_product_in_tiles(script: Run) -> None:
    done = script(
        NUMBA
        + """
TILE = 8

@cuda.jit(fastmath=True)
def matmul(A, B, C):
    a = cuda.shared.array((TILE, TILE), np.float32)
    b = cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = np.float32(0)
    for i in range((A.shape[1] + TILE - 1) // TILE):
        a[ty, tx] = A[y, tx + i * TILE] if y < A.shape[0] and tx + i * TILE < A.shape[1] else 0
        b[ty, tx] = B[ty + i * TILE, x] if x < B.shape[1] and ty + i * TILE < B.shape[0] else 0
        cuda.syncthreads()
        for j in range(TILE):
            total += a[ty, j] * b[j, tx]
        cuda.syncthreads()
    if y < C.shape[0] and x < C.shape[1]:
        C[y, x] = total

rng = np.random.default_rng(2)
A, B = rng.random((21, 19), np.float32), rng.random((19, 13), np.float32)
C = np.zeros((21, 13), np.float32)
matmul[(2, 3), (TILE, TILE)](A, B, C)
print(np.allclose(C, A @ B, rtol=1e-5))
"""
    )
    assert printed(done) == ["True"]


def test_streams_events_pinned_managed_and_mapped_memory(script: Run) -> None:
    done = script(
        NUMBA
        + """
@cuda.jit
def triple(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 3

streams = [cuda.stream(), cuda.stream()]
begin, end = cuda.event(), cuda.event()
hosts = [cuda.pinned_array(500, dtype=np.float32) for _ in streams]
begin.record(streams[0])
for host, stream in zip(hosts, streams):
    host[:] = 2
    device = cuda.to_device(host, stream=stream)
    triple[4, 128, stream](device)
    device.copy_to_host(host, stream=stream)
end.record(streams[0])
for stream in streams:
    stream.synchronize()
print(begin.elapsed_time(end) >= 0, [float(host.sum()) for host in hosts])
for make in (cuda.managed_array, cuda.mapped_array):
    shared = make(10, dtype=np.int32)
    shared[:] = 1
    triple[1, 32](shared)
    cuda.synchronize()
    print(int(shared.sum()))
"""
    )
    assert printed(done) == ["True [3000.0, 3000.0]", "30", "30"]


def test_a_grid_that_meets_local_arrays_and_libdevice(script: Run) -> None:
    done = script(
        NUMBA
        + """
import math
from numba.cuda import libdevice

@cuda.jit
def rows(m):
    grid, c = cuda.cg.this_grid(), cuda.grid(1)
    for r in range(1, m.shape[0]):
        m[r, c] = m[r - 1, m.shape[1] - c - 1] + 1
        grid.sync()

m = cuda.to_device(np.zeros((8, 64), dtype=np.int32))
rows[2, 32](m)
print(m.copy_to_host()[-1].tolist() == [7] * 64)

@cuda.jit
def norms(out):
    local = cuda.local.array(4, np.float64)
    for i in range(4):
        local[i] = math.sin(float(i)) * libdevice.rsqrt(4.0)
    out[cuda.grid(1)] = libdevice.hypot(local[1], local[2])

out = np.zeros(2)
norms[1, 2](out)
print(np.allclose(out, np.hypot(np.sin(1), np.sin(2)) / 2))
"""
    )
    assert printed(done) == ["True", "True"]


def test_numba_is_told_the_bytes_of_constants(script: Run) -> None:
    done = script(
        NUMBA
        + """
TABLE = np.arange(100, dtype=np.float64)

@cuda.jit("void(float64[:])")
def lookup(x):
    table = cuda.const.array_like(TABLE)
    x[cuda.grid(1)] = table[cuda.grid(1)]

print(lookup.get_const_mem_size())
"""
    )
    assert printed(done) == ["800"]


RACE = (
    NUMBA
    + """
@cuda.jit(lineinfo=True)
def total(values, out):
    shared = cuda.shared.array(1, np.float32)
    if cuda.threadIdx.x == 0:
        shared[0] = 0
    cuda.syncthreads()
    shared[0] += values[cuda.threadIdx.x]
    cuda.syncthreads()
    out[0] = shared[0]

out = cuda.to_device(np.zeros(1, np.float32))
total[1, 64](cuda.to_device(np.ones(64, np.float32)), out)
print("ended")
"""
)


def test_a_race_is_found_in_its_python_line(script: Run) -> None:
    done = script(RACE, "--sanitize")
    assert (done.returncode, done.stdout) == (1, "ended\n")
    assert "prog.py:12: race in kernel __main__::total" in done.stderr
    assert ">   12 |     shared[0] += values[cuda.threadIdx.x]" in done.stderr


def test_a_race_of_a_kernel_without_lines_has_its_name_and_what_is_never_freed_is_no_leak(script: Run) -> None:
    done = script(RACE.replace("(lineinfo=True)", ""), "--sanitize", "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)["findings"]
    assert {each["kind"] for each in found} == {"race"}
    assert all("total" in each["kernel"] for each in found)


def test_a_write_out_of_bounds_is_the_error_that_numba_raises(script: Run) -> None:
    done = script(
        NUMBA
        + """
from numba.cuda.cudadrv.driver import CudaAPIError

@cuda.jit(lineinfo=True)
def far(x):
    x[cuda.grid(1) + 1_000_000] = 1

far[1, 32](cuda.to_device(np.zeros(32, np.float32)))
try:
    cuda.synchronize()
except CudaAPIError as error:
    print(error)
"""
    )
    assert "Call to cuCtxSynchronize results in CUDA_ERROR_ILLEGAL_ADDRESS" in "".join(printed(done))
    assert "prog.py:10: out of bounds in kernel __main__::far" in done.stderr


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


BINDINGS = """
import ctypes
import numpy as np
from cuda.bindings import driver, nvrtc, runtime

def ok(answer):
    assert int(answer[0]) == 0, answer[0]
    return answer[1] if len(answer) == 2 else answer[1:]
"""


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


# -- options ----------------------------------------------------------------------------------------------------------
def test_a_call_fails_by_name_and_counts_are_those_of_a_program(script: Run) -> None:
    text = BINDINGS + (
        "print(*(runtime.cudaEventCreate()[0].name for _ in range(2)))\nprint(runtime.cudaMalloc(2**26)[0].name)"
    )
    done = script(text, "--fail", "cudaEventCreate=2", "--memory", "32MiB")
    assert printed(done) == ["cudaSuccess cudaErrorUnknown", "cudaErrorMemoryAllocation"]
    done = script(text, "--chip", "a100", "--json")
    assert json.loads(done.stdout)["activity"]["allocations"] == 1


def test_events_tell_predicted_times(script: Run) -> None:
    text = NUMBA + (
        "begin, end = cuda.event(), cuda.event()\nbegin.record()\ncuda.to_device(np.zeros(1 << 20))\nend.record()\n"
        "end.synchronize()\nprint(round(begin.elapsed_time(end), 4))"
    )
    first, second = (script(text, "--predict") for _ in range(2))
    assert printed(first) == printed(second)  # a clock would not say the same twice
    assert float(first.stdout) > 0.1


def test_the_time_limit_ends_a_script(script: Run) -> None:
    done = script("import time\ntime.sleep(60)", "--time-limit", "3")
    assert done.returncode == 124
    assert "the program had not ended after 3 s (--time-limit)" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-I", "include", "prog.py"), "-I is for the compilers of .cu files, and prog.py is a Python program"),
        (("--nvcc", "-G", "prog.py"), "--nvcc is for the compilers of .cu files"),
        (("--ptx", "prog.py"), "--ptx is for the compilers of .cu files"),
        (("prog.py", "a.cu"), "prog.py is a Python program, and is run alone"),
        (("nowhere.py",), "there is no file nowhere.py"),
        (("folder.py",), "folder.py is no file"),
    ],
)
def test_what_cannot_be_with_a_script_is_said_in_a_sentence(
    words: tuple[str, ...], said: str, tools: Toolchain, tmp_path: Path
) -> None:
    (tmp_path / "prog.py").touch()
    (tmp_path / "a.cu").touch()
    (tmp_path / "folder.py").mkdir()
    command = [sys.executable, "-m", "gridstride", "run", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
