"""malloc, free, new and delete in kernels, and what the bounds check knows of their blocks."""

from __future__ import annotations

import numpy as np
import pytest
from host_arrays import zeros

import gridstride as gs

LIST = """
struct Node { int value; Node *next; };
extern "C" __global__ void k(int *o) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    Node *head = 0;
    for (int i = 0; i <= t % 7; ++i) { Node *n = new Node; n->value = t + i; n->next = head; head = n; }
    int sum = 0;
    while (head) { sum = 3 * sum + head->value; Node *n = head->next; delete head; head = n; }
    o[t] = sum;
}"""


def test_linked_lists_in_many_threads_at_once(gpu: gs.VirtualGPU) -> None:
    out = zeros(20 * 96)
    gs.cuda(LIST)["k"][20, 96](out)
    want = []
    for t in range(len(out)):
        total = 0
        for i in reversed(range(t % 7 + 1)):
            total = 3 * total + t + i
        want.append(total)
    assert out.tolist() == want
    assert gpu.heap.use().live == 0


def test_blocks_are_apart_and_aligned_and_stay_for_the_next_launch(gpu: gs.VirtualGPU) -> None:
    module = gs.cuda("""
    __device__ char *kept[64];
    extern "C" __global__ void make(long long *at) {
        int t = threadIdx.x;
        char *p = (char *)malloc(t + 1);
        for (int i = 0; i <= t; ++i) p[i] = t;
        kept[t] = p;
        at[t] = (long long)p;
    }
    extern "C" __global__ void take(int *o) {
        int t = threadIdx.x, sum = 0;
        for (int i = 0; i <= t; ++i) sum += kept[t][i];
        o[t] = sum;
        free(kept[t]);
    }""")
    at, out = np.zeros(64, np.int64), zeros(64)
    module["make"][1, 64](at)
    assert not (at % 16).any()
    assert gpu.heap.use().live_bytes == 64 * 65 // 2
    module["take"][1, 64](out)
    t = np.arange(64)
    assert (out == t * (t + 1)).all()
    assert gpu.heap.use().live == 0


def test_a_full_heap_gives_null_and_freed_memory_comes_back() -> None:
    with gs.use(gs.VirtualGPU(workers=2, memory=16 << 20, heap=64 << 10)) as gpu:
        kernel = gs.cuda("""extern "C" __global__ void k(int *o, int rounds) {
            int got = 0;
            for (int i = 0; i < rounds; ++i) { void *p = malloc(20000); got += p != 0; free(p); }
            void *a = malloc(30000), *b = malloc(30000), *c = malloc(30000), *d = malloc(~0ULL);
            o[0] = got; o[1] = a != 0; o[2] = b != 0; o[3] = c != 0; o[4] = d != 0;
            free(a); free(b); free(c); free(d);
        }""")["k"]
        out = zeros(5)
        kernel[1, 1](out, 50)
        assert out.tolist() == [50, 1, 1, 0, 0]
        assert gpu.heap.use().failed == 2


WRONG = {
    "overrun": ("p[4] = 1;", "out_of_bounds", "0 bytes past the end of a block of 16 bytes"),
    "underrun": ("p[-1] = 1;", "out_of_bounds", "device heap|outside|nearest"),
    "use after free": ("p[2] = 1; free(p); o[0] = p[2];", "use_after_free", "8 bytes into a freed block of 16 bytes"),
    "double free": ("free(p); o[0] = p != 0; free(p);", "invalid_free", r"second time \(a block of 16 bytes\)"),
    "free inside": ("free(p + 1);", "invalid_free", "malloc did not give: it is 4 bytes into a block of 16 bytes"),
    "free of another": ("free(o);", "invalid_free", "it is in no block of the device heap"),
}


def test_what_found_no_room_is_not_looked_for_again_until_something_is_freed() -> None:
    """Searching all of the heap for each of 10^5 requests took minutes."""
    with gs.use(gs.VirtualGPU("h200", heap=64 << 20, workers=1, time_limit=10)) as gpu:
        module = gs.cuda("""
        __device__ char *kept;
        extern "C" __global__ void fill(int *o) {
            if (blockIdx.x == 0 && threadIdx.x == 0) kept = (char *)malloc(8 << 20);
            while (malloc(12 << 20)) {}
            if (threadIdx.x == 0 && blockIdx.x == gridDim.x - 1) o[0] = malloc(1 << 20) != 0;  // less does fit
        }
        extern "C" __global__ void give(int *o) {
            void *before = malloc(15 << 19);
            free(kept);
            o[1] = before != 0;
            o[2] = malloc(15 << 19) != 0;
        }""")
        out = zeros(3)
        module["fill"][400, 256](out)
        module["give"][1, 1](out)
        assert out.tolist() == [1, 0, 1]
        assert gpu.heap.use().failed >= 400 * 256


@pytest.mark.parametrize("observed", [False, True], ids=["fast", "observed"])
@pytest.mark.parametrize("mistake", WRONG)
def test_mistakes_with_blocks_are_findings(gpu: gs.VirtualGPU, mistake: str, observed: bool) -> None:
    text, kind, message = WRONG[mistake]
    gpu.sanitize = observed
    kernel = gs.cuda(f"""extern "C" __global__ void k(volatile int *volatile o) {{
        int *volatile q = (int *)malloc(16); int *p = q;
        {text.replace("(o)", "((void *)o)").replace("p[", "((volatile int *)p)[")}
    }}""")["k"]
    with pytest.raises(gs.KernelFault, match=message) as fault:
        kernel[1, 1](zeros(8))
    assert (fault.value.kind, fault.value.line) == (kind, 3)


def test_a_site_that_met_a_live_block_still_finds_a_freed_one(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""extern "C" __global__ void k(int *o) {
        int *p = (int *)malloc(256);
        for (int i = 0; i < 4; ++i) {
            ((volatile int *)p)[i] = i;
            if (i == o[0]) free(p);
        }
    }""")["k"]
    kernel[1, 1](zeros(1) + 3)
    with pytest.raises(gs.KernelFault) as fault:
        kernel[1, 1](zeros(1) + 1)
    assert (fault.value.kind, fault.value.line) == ("use_after_free", 4)


def test_an_observed_run_says_what_was_not_given_back(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""extern "C" __global__ void k(int *o) {
        int *p = (int *)malloc(40);
        *(volatile int *)p = 1;
        if (threadIdx.x % 4) free(p);
    }""")["k"]
    run = kernel.observe(2, 32)(zeros(1))
    assert run.findings == ()
    assert run.heap is not None
    assert (run.heap.allocations, run.heap.frees, run.heap.leaked, run.heap.live_bytes) == (64, 48, 16, 16 * 40)
    assert "device heap: 64 blocks taken, 48 freed, 16 not given back" in str(run)
    assert "16 not given back" in run._repr_html_()
