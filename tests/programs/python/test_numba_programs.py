"""Numba's kernels in whole scripts, unmodified, on the virtual GPU."""

from __future__ import annotations

import json

import pytest

from .scripts import NUMBA, Run, printed

pytest.importorskip("numba_cuda", reason="pip install 'gridstride[numba]'")

pytestmark = pytest.mark.timeout(600)  # the first one builds the runtime library


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
