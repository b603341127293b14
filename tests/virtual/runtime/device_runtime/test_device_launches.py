"""Kernels that launch kernels: order of streams, tail launches, nesting, limits and errors, faults of children."""

from __future__ import annotations

import numpy as np
import pytest
from device_runtime import MEASURED, RDC
from host_arrays import zeros

import gridstride as gs

LOG = """
__device__ int order[256], at;
__global__ void mark(int v) { order[at++] = v; }
"""


def logged(module: gs.Module) -> list[int]:
    at = int(module.symbol("at", "int32").numpy()[0])
    return module.symbol("order", "int32").numpy()[:at].tolist()


def test_every_thread_launches_a_grid_with_arguments_of_its_own(gpu: gs.VirtualGPU) -> None:
    module = gs.cuda(
        """
    struct Span { int first; short step; double add; };
    __global__ void child(double *p, Span s, char c) { p[s.first + s.step * threadIdx.x] += s.add + c; }
    __global__ void parent(double *p) { int t = threadIdx.x; child<<<1, 4>>>(p, Span{4 * t, 1, 0.5 * t}, (char)t); }
    """,
        RDC,
    )
    p = np.zeros(256)
    module["parent"][1, 64](p)
    assert (p == 1.5 * np.repeat(np.arange(64), 4)).all()


def test_children_run_in_the_order_of_their_stream_and_tail_launches_last(gpu: gs.VirtualGPU) -> None:
    module = gs.cuda(
        LOG
        + """__global__ void middle(int v) {
        mark<<<1, 1, 0, cudaStreamTailLaunch>>>(v + 3);
        mark<<<1, 1>>>(v + 1); mark<<<1, 1>>>(v + 2);
    }
    __global__ void parent(int *seen) {
        mark<<<1, 1, 0, cudaStreamTailLaunch>>>(90);
        middle<<<1, 1, 0, cudaStreamTailLaunch>>>(70);
        middle<<<1, 1>>>(10); mark<<<1, 1>>>(20); mark<<<1, 1>>>(30);
        *seen = at;
    }""",
        RDC,
    )
    seen = zeros(1)
    module["parent"][1, 1](seen)
    assert seen[0] == 0  # children begin at the latest moment allowed
    assert logged(module) == MEASURED["order"] == [11, 12, 13, 20, 30, 90, 71, 72, 73]


def test_a_second_launch_from_the_host_finds_all_done(gpu: gs.VirtualGPU) -> None:
    module = gs.cuda(LOG + "__global__ void parent(int v) { mark<<<1, 1>>>(v); }", RDC)
    for v in range(5):
        module["parent"][1, 1](v)
    assert logged(module) == [0, 1, 2, 3, 4]


def test_streams_and_events_made_on_the_device(gpu: gs.VirtualGPU) -> None:
    module = gs.cuda(
        LOG
        + """__global__ void parent(int *codes) {
        cudaStream_t a, b; cudaEvent_t e;
        codes[0] = cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
        codes[1] = cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
        codes[2] = cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
        codes[3] = cudaStreamCreateWithFlags(&b, cudaStreamDefault);
        mark<<<1, 1, 0, a>>>(1);
        codes[4] = cudaEventRecord(e, a);
        codes[5] = cudaStreamWaitEvent(b, e, 0);
        mark<<<1, 1, 0, b>>>(2);
        mark<<<1, 1, 0, cudaStreamPerThread>>>(3);
        codes[6] = cudaEventDestroy(e); codes[7] = cudaStreamDestroy(a); codes[8] = cudaStreamDestroy(b);
        mark<<<1, 1, 0, (cudaStream_t)0x1234560>>>(4);
        codes[9] = cudaGetLastError();
    }""",
        RDC,
    )
    codes = zeros(10)
    module["parent"][1, 1](codes)
    assert codes.tolist() == [0, 0, 0, 0, 0, 0, 0, 0, 0, 400]
    assert logged(module) == [1, 2, 3]


def test_copies_and_fills_keep_the_order_of_the_stream(gpu: gs.VirtualGPU) -> None:
    module = gs.cuda(
        """__global__ void add(int *p) { p[threadIdx.x] += threadIdx.x; }
    __global__ void parent(int *p, int *q) {
        cudaMemsetAsync(p, 1, 128, 0);
        add<<<1, 32>>>(p);
        cudaMemcpyAsync(q, p, 128, cudaMemcpyDeviceToDevice, 0);
        cudaMemsetAsync(p, 0, 64, 0);
        q[0] = -1;
    }""",
        RDC,
    )
    p, q, want = zeros(32), zeros(32), 0x01010101 + np.arange(32)
    module["parent"][1, 1](p, q)
    assert (q == want).all()
    assert (p == np.where(np.arange(32) < 16, 0, want)).all()


def test_a_copy_outside_of_memory_is_a_finding_with_the_line_of_the_call(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(
        "__global__ void parent(int *p) {\n cudaMemcpyAsync(p, p + 60, 64, cudaMemcpyDeviceToDevice, 0);\n}", RDC
    )["parent"]
    with pytest.raises(gs.KernelFault, match="cudaMemcpyAsync of 64 bytes at address") as fault:
        kernel[1, 1](zeros(64))
    assert (fault.value.kind, fault.value.line) == ("out_of_bounds", 2)
    (found,) = kernel.observe(1, 1)(zeros(64)).findings
    assert (found.kind, found.line) == ("out_of_bounds", 2)


def test_memory_from_cuda_malloc_reaches_children(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(
        """__global__ void fill(int *m) { m[threadIdx.x] = threadIdx.x; }
    __global__ void sum(int *m, int *o) { atomicAdd(o, m[threadIdx.x]); }
    __global__ void drop(int *m, int *o) { o[1] = cudaFree(m); }
    __global__ void parent(int *o) {
        int *m;
        o[2] = cudaMalloc((void **)&m, 400);
        fill<<<1, 100>>>(m); sum<<<1, 100>>>(m, o); drop<<<1, 1>>>(m, o);
        void *much;
        o[3] = cudaMalloc(&much, 1ull << 40);
    }""",
        RDC,
    )["parent"]
    out = np.full(4, -1, np.int32)
    out[0] = 0
    kernel[1, 1](out)
    assert out.tolist() == [4950, 0, 0, 2]


@pytest.mark.parametrize("stream", ["0", "cudaStreamTailLaunch"])
def test_grids_nest_as_deep_as_on_hardware(gpu: gs.VirtualGPU, stream: str) -> None:
    kernel = gs.cuda(
        """__global__ void down(int *o, int n) {
        o[0] = n; if (n < 60) down<<<1, 1, 0, STREAM>>>(o, n + 1); o[1] |= cudaGetLastError();
    }""".replace("STREAM", stream),
        RDC,
    )["down"]
    out = zeros(2)
    kernel[1, 1](out, 0)
    assert out.tolist() == [60, 0]


def test_no_more_launches_wait_than_may(gpu: gs.VirtualGPU) -> None:
    source = "__global__ void c(int *n) { atomicAdd(n, 1); } __global__ void k(int *n, int *e) { c<<<1, 1>>>(n);"
    kernel = gs.cuda(source + "if (cudaGetLastError() == 69) atomicAdd(e, 1); }", RDC)["k"]
    with gs.use(gs.VirtualGPU(workers=1, memory=64 << 20, pending_launches=100)):
        n, e = zeros(1), zeros(1)
        kernel[1, 128](n, e)
        assert (n[0], e[0]) == (100, 28)


def test_a_fault_in_a_child_names_its_kernel_and_line_and_who_launched_it(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(
        "__global__ void child(int *p, int i) {\n    p[i] = 1;\n}\n"
        "__global__ void parent(int *p) {\n    if (threadIdx.x == 3)\n        child<<<2, 32>>>(p, 64);\n}",
        RDC,
    )["parent"]
    who = r"launched by parent in kernel.cu:6, block \(0, 0, 0\), thread \(3, 0, 0\)"
    with pytest.raises(gs.KernelFault, match=who) as fault:
        kernel[1, 32](zeros(64))
    assert (fault.value.kind, fault.value.kernel, fault.value.line) == ("out_of_bounds", "child", 2)
    (found,) = kernel.observe(1, 32)(zeros(64)).findings
    assert (found.kind, found.line) == ("out_of_bounds", 2)


def test_grids_that_never_end_are_stopped_by_the_one_time_limit(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("__global__ void on(int n) { on<<<1, 1, 0, cudaStreamTailLaunch>>>(n + 1); }", RDC)["on"]
    limited = gs.VirtualGPU(workers=1, memory=64 << 20, time_limit=0.3)
    with (
        gs.use(limited),
        pytest.raises(gs.KernelFault, match=r"stopped after 0.3 s, .* on was (to start next|running)"),
    ):
        kernel[1, 1](0)


SORT = """
__global__ void quick(int *a, int low, int high) {
    while (low < high) {
        int pivot = a[(low + high) / 2], i = low, j = high;
        while (i <= j) {
            while (a[i] < pivot) ++i;
            while (a[j] > pivot) --j;
            if (i <= j) { int t = a[i]; a[i++] = a[j]; a[j--] = t; }
        }
        if (j - low < high - i) { if (low < j) quick<<<1, 1, 0, cudaStreamFireAndForget>>>(a, low, j); low = i; }
        else { if (i < high) quick<<<1, 1, 0, cudaStreamFireAndForget>>>(a, i, high); high = j; }
    }
}"""


def test_recursive_quicksort(gpu: gs.VirtualGPU) -> None:
    a = np.random.default_rng(1).integers(-1000, 1000, 500).astype(np.int32)
    want = np.sort(a)
    gs.cuda(SORT, RDC)["quick"][1, 1](a, 0, a.size - 1)
    assert (a == want).all()


MANDELBROT = """
__device__ int dwell(int x, int y, int n) {
    float cr = -2.0f + 3.0f * x / n, ci = -1.5f + 3.0f * y / n, r = 0, i = 0;
    int d = 0;
    while (d < 64 && r * r + i * i < 4) { float t = r * r - i * i + cr; i = 2 * r * i + ci; r = t; ++d; }
    return d;
}
__global__ void fill(int *image, int n, int x0, int y0, int d) {
    image[(y0 + blockIdx.x) * n + x0 + threadIdx.x] = d;
}
__global__ void pixels(int *image, int n, int x0, int y0) {
    int x = x0 + threadIdx.x, y = y0 + blockIdx.x;
    image[y * n + x] = dwell(x, y, n);
}
__global__ void square(int *image, int n, int x0, int y0, int size) {  // Mariani and Silver: one border, one colour
    __shared__ int least, most;
    int x0_ = x0 + blockIdx.x * size, y0_ = y0 + blockIdx.y * size, t = threadIdx.x;
    if (t == 0) { least = 1 << 20; most = -1; }
    __syncthreads();
    for (int k = t; k < 4 * size; k += blockDim.x) {
        int side = k / size, o = k % size;
        int d = dwell(x0_ + (side == 0 ? 0 : side == 1 ? size - 1 : o),
                      y0_ + (side == 2 ? 0 : side == 3 ? size - 1 : o), n);
        atomicMin(&least, d); atomicMax(&most, d);
    }
    __syncthreads();
    if (t) return;
    if (least == most) fill<<<size, size>>>(image, n, x0_, y0_, least);
    else if (size <= 8) pixels<<<size, size>>>(image, n, x0_, y0_);
    else square<<<dim3(2, 2), 32>>>(image, n, x0_, y0_, size / 2);
}"""


def test_adaptive_mandelbrot(gpu: gs.VirtualGPU) -> None:
    module, n = gs.cuda(MANDELBROT, RDC), 128
    adaptive, plain = np.full((n, n), -1, np.int32), np.full((n, n), -1, np.int32)
    module["square"][(4, 4), 32](adaptive, n, 0, 0, n // 4)
    module["pixels"][n, n](plain, n, 0, 0)
    assert (adaptive >= 0).all()
    assert np.mean(adaptive == plain) > 0.99  # where a border hides what is inside, the method itself is wrong
    counted = module["square"].observe((4, 4), 32)(adaptive, n, 0, 0, n // 4)
    assert not counted.findings
    assert sum(each.kernel == "square" for each in counted.children) >= 2
    assert any(each.kernel == "fill" for each in counted.descendants())
    assert f"launched {len(list(counted.descendants()))} grids itself: " in str(counted)


BFS = """
__global__ void visit(const int *first, const int *to, int *depth, int v, int d, int *again) {
    int e = first[v] + threadIdx.x;
    if (e < first[v + 1] && atomicCAS(depth + to[e], -1, d) == -1) *again = 1;
}
__global__ void level(const int *first, const int *to, int *depth, int n, int d, int *again) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v == 0) *again = 0;
    if (v < n && depth[v] == d && first[v] < first[v + 1])
        visit<<<1, first[v + 1] - first[v]>>>(first, to, depth, v, d + 1, again);
    if (v == 0) step<<<1, 1, 0, cudaStreamTailLaunch>>>(first, to, depth, n, d + 1, again);
}"""


def test_nested_breadth_first_search(gpu: gs.VirtualGPU) -> None:
    step = """__global__ void level(const int *, const int *, int *, int, int, int *);
    __global__ void step(const int *first, const int *to, int *depth, int n, int d, int *again) {
        if (*again && d < 20) level<<<(n + 63) / 64, 64>>>(first, to, depth, n, d, again);
    }"""
    n, random = 300, np.random.default_rng(2)
    degree = random.integers(0, 6, n)
    first = np.concatenate([[0], np.cumsum(degree)]).astype(np.int32)
    to = random.integers(0, n, first[-1]).astype(np.int32)
    depth = np.full(n, -1, np.int32)
    depth[0] = 0
    gs.cuda(step + BFS, RDC)["level"][(n + 63) // 64, 64](first, to, depth, n, 0, zeros(1))
    want, frontier, d = np.full(n, -1, np.int32), [0], 0
    want[0] = 0
    while frontier and d < 20:
        reached = {int(t) for v in frontier for t in to[first[v] : first[v + 1]] if want[t] < 0}
        d += 1
        want[list(reached)] = d
        frontier = sorted(reached)
    assert (depth == want).all()


def test_what_the_device_runtime_does_not_have_is_said_with_the_line(gpu: gs.VirtualGPU) -> None:
    source = "__global__ void k(size_t *p) {\n    cudaDeviceGetLimit(p, cudaLimitMallocHeapSize);\n}"
    with pytest.raises(gs.LinkError, match=r"GetLimit` is used in .*: CUDA's device runtime has it, the virtual GPU's"):
        gs.cuda(source, RDC)["k"]


def test_launching_without_relocatable_code_says_which_option(gpu: gs.VirtualGPU) -> None:
    with pytest.raises(gs.CompileError, match=r'options=\("-rdc=true",\)'):
        gs.cuda("__global__ void c() {} __global__ void k() { c<<<1, 1>>>(); }")


def test_waiting_for_children_inside_a_kernel_is_refused_with_the_reason(gpu: gs.VirtualGPU) -> None:
    with pytest.raises(gs.CompileError, match="a kernel cannot wait for the kernels it launches since CUDA 12"):
        gs.cuda("__global__ void k() { cudaDeviceSynchronize(); }", RDC)
    old = "__global__ void k() { cudaDeviceSynchronize(); }"
    with gs.use(gs.VirtualGPU("a100", workers=1)), pytest.raises(gs.LinkError, match="cudaStreamTailLaunch"):
        gs.cuda(old, (*RDC, "-DCUDA_FORCE_CDP1_IF_SUPPORTED"))["k"]
