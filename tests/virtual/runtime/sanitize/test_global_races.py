"""Races in global memory: what is found, between which lines of which blocks, and what must stay silent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.gpu import VirtualGPU

HEAD = """
__device__ unsigned int count;
__device__ int lock;
__device__ volatile int mailbox;
__device__ int plain;
extern "C" __global__ void kernel(int* a, int* b, int* c, int n) {
    __shared__ int tile[128];
    const int t = threadIdx.x, x = blockIdx.x, i = x * blockDim.x + t, last = gridDim.x * blockDim.x - 1;
    tile[t] = 0; __syncthreads();
"""
HEADERS = {True: "#include <cooperative_groups.h>\n#include <cuda/atomic>\n#line 1\n"}
"""What only some of the kernels need: they take a second to compile."""

SIZE = 1024
BLOCKS = 8


def observed(
    body: str, *, threads: int = 128, blocks: int = BLOCKS, workers: int = 1, cooperative: bool = False, runs: int = 1
) -> tuple[Any, ...]:
    """What is found in the last of so many launches of a kernel with this body, on arrays of ones."""
    with gs.use(VirtualGPU(workers=workers, time_limit=20, sanitize=True)):
        kernel = gs.cuda(HEADERS.get("::" in body, "") + HEAD + body + "\n}\n", filename="race.cu")["kernel"]
        arrays = [gs.to_device(np.ones(SIZE, "i4")) for _ in range(3)]
        for _ in range(runs):
            try:
                kernel.launch(grid=blocks, block=threads, args=(*arrays, SIZE), cooperative=cooperative)
            except gs.KernelFault as fault:
                return fault.findings
    return ()


def line_of(body: str, text: str) -> int:
    return next(n for n, line in enumerate((HEAD + body).splitlines(), 1) if text in line)


FOUND = {
    "two blocks write different values to one word": """
        if (t == 0)
            a[0] = x; //@ //#""",
    "a histogram without atomics": """
        if (t < 32)
            a[0] += 1; //@ //#""",
    "an in-place stencil reads what its neighbour block writes": """
        int v = a[i] + a[i == 0 ? last : i - 1]; //#
        __syncthreads();
        a[i] = v; //@""",
    "a transposition in place": """
        int v = a[i]; //#
        a[last - i] = 2 * i + v; //@""",
    "a neighbour block's result in the same launch": """
        a[i] = 2 * i; //@
        __syncthreads();
        b[i] = a[i < 128 ? last - i : i - 128]; //#""",
    "a flag that is waited for with no fence before it": """
        if (x == 0) { a[t] = 5; __syncthreads(); if (t == 0) mailbox = 1; } //@
        else { while (mailbox == 0) {} b[i] = a[t]; } //#""",
    "the last block adds up what no fence has published": """
        if (t == 0) {
            a[x] = x + 2; //@
            if (atomicInc(&count, gridDim.x - 1) == gridDim.x - 1)
                for (int k = 0; k < gridDim.x; k++) b[0] += a[k]; //#
        }""",
    "a fence before the barrier that the other threads of the block need": """
        a[i] = 3 * i; //@
        if (t == 0) { __threadfence(); tile[0] = atomicInc(&count, gridDim.x - 1) == gridDim.x - 1; }
        __syncthreads();
        if (tile[0]) for (int k = t; k < SIZE_; k += 128) b[k] = a[last - k]; //#""",
    "every warp's own fence, and a count that waits for none of them": """
        a[i] = 3 * i; //@
        __threadfence();
        if (t == 0) tile[0] = atomicInc(&count, gridDim.x - 1) == gridDim.x - 1;
        __syncthreads();
        if (tile[0]) for (int k = t; k < SIZE_; k += 128) b[k] = a[last - k]; //#""",
    "a fence of the block alone": """
        if (t == 0) {
            a[x] = x + 2; //@
            __threadfence_block();
            if (atomicInc(&count, gridDim.x - 1) == gridDim.x - 1)
                for (int k = 0; k < gridDim.x; k++) b[k] = a[k]; //#
        }""",
    "a counter is read plainly that others add to": """
        if (t == 0) b[x] = a[5]; //@
        if (t == 0) atomicAdd(&a[5], 1); //#""",
    "a plain store where others compare and swap": """
        if (t == 0) atomicCAS(&a[5], 1, x); //@
        if (t == 0) a[5] = 3 + x; //#""",
    "atomics of the block alone": """
        if (t == 0)
            atomicAdd_block(&a[0], 1); //@ //#""",
    "two warps of a block with no barrier between": """
        a[i] = i; //@
        b[i] = a[i ^ 32]; //#""",
    "overlapping tiles": """
        if (t < 100 && x * 96 + t < SIZE_)
            a[x * 96 + t] = x; //@ //#""",
    "overlapping tiles of vectors": """
        if (t < 8)
            reinterpret_cast<int4*>(a)[x * 6 + t] = {x, x, x, x}; //@ //#""",
    "a byte that two blocks write": """
        if (t == 0)
            reinterpret_cast<char*>(a)[(x + 1) / 2] = x; //@ //#""",
    "a counter that the first block clears and counts with": """
        if (i == 0) c[0] = 0; //@
        if (t == 0) atomicAdd(&c[0], 1); //#""",
    "a counter that another warp of the block counts with": """
        if (t == 0) c[x] = 0; //@
        if (t % 32 == 0) atomicAdd(&c[x], 1); //#""",
    "a flag that one block resets while others read it": """
        if (t == 0 && x % 2) plain = x; //@
        b[i] = plain; //#""",
}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", FOUND)
def test_a_race_is_found_with_both_its_lines(name: str, workers: int) -> None:
    body = FOUND[name].replace("SIZE_", str(SIZE))
    found = observed(body, workers=workers)
    assert {f.kind for f in found} == {"race"}
    wanted = {line_of(body, "//@"), line_of(body, "//#")}
    assert wanted in [{f.line, f.other.line} for f in found]


SILENT = {
    "each thread its own element": "a[i] += b[i];",
    "all read the same": "b[i] = a[t] + a[i] + a[0] + __ldg(&c[x]);",
    "neighbouring bytes": "reinterpret_cast<unsigned char*>(a)[i] = i;",
    "a counter that is cleared before a barrier": "if (t == 0) c[x] = 0; __syncthreads(); atomicAdd(&c[x], 1);",
    "a byte for each block": "if (t == 0) reinterpret_cast<char*>(a)[x] = x;",
    "the same value from all": "if (a[i] == 1) b[0] = 7; c[5] = 1;",
    "a histogram of atomics": "atomicAdd(&a[i % 7], 1); atomicMax(&b[0], i); atomicAdd(&c[t], 1);",
    "vectors": "reinterpret_cast<int4*>(a)[i % 256] = reinterpret_cast<int4*>(b)[i % 256];",
    "a barrier between two warps": "a[i] = i; __syncthreads(); b[i] = a[i ^ 32]; __syncthreads(); a[i ^ 64] = 1;",
    "a threadfence reduction": """
        tile[t] = a[i]; __syncthreads();
        for (int s = 64; s > 0; s /= 2) { if (t < s) tile[t] += tile[t + s]; __syncthreads(); }
        __shared__ bool is_last;
        if (t == 0) { b[x] = tile[0]; __threadfence(); is_last = atomicInc(&count, gridDim.x) == gridDim.x - 1; }
        __syncthreads();
        if (is_last) {
            int sum = 0;
            for (int k = t; k < gridDim.x; k += 128) sum += b[k];
            tile[t] = sum; __syncthreads();
            for (int s = 64; s > 0; s /= 2) { if (t < s) tile[t] += tile[t + s]; __syncthreads(); }
            if (t == 0) { c[0] = tile[0]; count = 0; }
        }""",
    "every thread's own fence before the barrier": """
        a[i] = 3 * i; __threadfence(); __syncthreads();
        if (t == 0) tile[0] = atomicInc(&count, gridDim.x - 1) == gridDim.x - 1;
        __syncthreads();
        if (tile[0]) for (int k = t; k < 1024; k += 128) b[k] = a[1023 - k];""",
    "what was read before the last fence, and written by who heard a message before it": """
        c[i] = a[0]; __syncthreads();
        if (t == 0) { atomicAdd(&count, 1); __threadfence(); }
        if (x < gridDim.x - 1 || t > 0) return;
        while (*(volatile int*)&count < gridDim.x) {}
        __threadfence(); a[0] = 7;""",
    "a count for each warp": """
        a[i] = 3 * i; __threadfence(); __syncwarp();
        if (t % 32 == 0) tile[t / 32] = atomicInc(&count, 4 * gridDim.x - 1) == 4 * gridDim.x - 1;
        __syncwarp();
        if (tile[t / 32]) for (int k = t % 32; k < 1024; k += 32) b[k] = a[1023 - k];""",
    "warps that count one another in shared memory": """
        if (t == 0) tile[0] = 0;
        __syncthreads();
        a[i] = 3 * i; __threadfence(); __syncwarp();
        if (t % 32 == 0 && atomicAdd(&tile[0], 1) == 3)
            if (atomicInc(&count, gridDim.x - 1) == gridDim.x - 1) {
                __threadfence();
                for (int k = 0; k < 1024; k++) b[k] = a[1023 - k];
            }""",
    "a fence after the barrier": """
        a[i] = 3 * i; __syncthreads();
        if (t == 0) { __threadfence(); tile[0] = atomicInc(&count, gridDim.x - 1) == gridDim.x - 1; }
        __syncthreads();
        if (tile[0]) for (int k = t; k < 1024; k += 128) b[k] = a[1023 - k];""",
    "a spin lock": """
        if (t == 0) {
            while (atomicCAS(&lock, 0, 1) != 0) {}
            __threadfence(); a[0] += x; b[a[0] % 7] = x; __threadfence();
            atomicExch(&lock, 0);
        }""",
    "a spin lock that each warp takes": """
        if (t % 32 == 0) {
            while (atomicCAS(&lock, 0, 1) != 0) {}
            __threadfence(); a[0] += x; __threadfence();
            atomicExch(&lock, 0);
        }""",
    "a ticket lock": """
        if (t == 0) {
            const unsigned mine = atomicAdd(&count, 1);
            while (atomicAdd(reinterpret_cast<unsigned*>(&lock), 0) != mine) {}
            __threadfence(); a[0] = a[0] * 3 + x; __threadfence();
            atomicAdd(&lock, 1);
        }""",
    "a volatile mailbox": """
        if (x == 0) { a[t] = 5; __syncthreads(); if (t == 0) { __threadfence(); mailbox = 1; } }
        else { if (t == 0) { while (mailbox == 0) {} __threadfence(); } __syncthreads(); b[i] = a[t]; }""",
    "cuda::atomic_ref with release and acquire": """
        cuda::atomic_ref<int, cuda::thread_scope_device> flag(lock);
        if (x == 0) { a[t] = 5; __syncthreads(); if (t == 0) flag.store(1, cuda::memory_order_release); }
        else {
            if (t == 0) while (flag.load(cuda::memory_order_acquire) == 0) {}
            __syncthreads(); b[i] = a[t];
        }""",
    "cuda::atomic_ref with fetch_add of both": """
        cuda::atomic_ref<int, cuda::thread_scope_device> done(lock);
        a[i] = i; __syncthreads();
        if (t == 0) tile[0] = done.fetch_add(1, cuda::memory_order_acq_rel) == gridDim.x - 1;
        __syncthreads();
        if (tile[0]) for (int k = t; k < 1024; k += 128) b[k] = a[1023 - k];""",
    "a chained scan that looks back": """
        if (t == 0) tile[0] = atomicAdd(&count, 1);
        __syncthreads();
        const int part = tile[0];
        volatile int* flags = a;
        __syncthreads();
        b[part * 128 + t] = part; __syncthreads();
        if (t == 0) {
            int before = 0;
            if (part > 0) { while (flags[part - 1] != 2) {} __threadfence(); before = b[(part - 1) * 128 + 127]; }
            b[part * 128 + 127] = before + part; __threadfence();
            flags[part] = 2;
        }""",
    "a breadth-first step with atomicCAS": """
        const int next = (i * 7 + 3) % 1024;
        if (atomicCAS(&a[next], 1, 5) == 1) b[atomicAdd(&count, 1) % 1024] = next;""",
    "a search that looks at a level before it claims one": """
        if (a[i] == 1) for (int k = 0; k < 4; k++) atomicCAS(&a[(i * 5 + k) % 1024], 7, 2);""",
    "a relaxation that looks before it takes the minimum": """
        const int to = (i * 3) % 64; if (a[to] > -i) atomicMin(&a[to], -i);""",
    "an insertion into a hash table": """
        int slot = (i * 37) % 1024;
        while (a[slot] != i && atomicCAS(&a[slot], 1, i) != 1) slot = (slot + 1) % 1024;""",
    "a persistent kernel with a queue": """
        for (;;) {
            if (t == 0) tile[0] = atomicAdd(&count, 1);
            __syncthreads();
            const int item = tile[0];
            __syncthreads();
            if (item >= 8) break;
            a[item * 128 + t] = item;
        }""",
    "double buffers and a barrier of all blocks": """
        for (int step = 0; step < 4; step++) {
            const int* from = step % 2 ? b : a; int* to = step % 2 ? a : b;
            to[i] = from[last - i] + from[(i + 130) % 1024];
            __syncthreads();
            if (t == 0) {
                __threadfence(); atomicAdd(&lock, 1);
                while (atomicAdd(&lock, 0) < (step + 1) * int(gridDim.x)) {}
                __threadfence();
            }
            __syncthreads();
        }""",
    "stores that nobody else reads, with evictions": "__stcs(&a[i], __ldcg(&b[i])); __stcg(&c[i], 5);",
}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", SILENT)
def test_nothing_is_found_where_the_code_is_right(name: str, workers: int) -> None:
    assert observed(SILENT[name], workers=workers) == ()


GRID_SYNC = """
    auto grid = cooperative_groups::this_grid();
    a[i] = i;
    grid.sync();
    b[i] = a[last - i];
    grid.sync();
    a[(i + 200) % 1024] = 3;
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_cooperative_grid_that_meets_is_in_order(workers: int) -> None:
    assert observed(GRID_SYNC, cooperative=True, workers=workers) == ()


def test_a_missing_grid_sync_is_found() -> None:
    body = "    a[i] = i; //@\n    b[i] = a[last - i]; //#\n"
    found = observed(body, cooperative=True)
    assert {line_of(body, "//@"), line_of(body, "//#")} in [{f.line, f.other.line} for f in found]


def test_launches_one_after_the_other_do_not_race() -> None:
    assert observed("a[last - i] = b[i]; b[i] = i; ", runs=3) == ()


def test_another_launch_may_look_at_smaller_units() -> None:
    with gs.use(VirtualGPU(sanitize=True, workers=1)):
        module = gs.cuda("""
            template <class T> __device__ void fill(void* a) {
                static_cast<T*>(a)[blockIdx.x * 32 + threadIdx.x] = 1;
            }
            extern "C" __global__ void words(int* a) { fill<int>(a); }
            extern "C" __global__ void bytes(int* a) { fill<char>(a); }
            extern "C" __global__ void doubles(int* a) { fill<double>(a); }
        """)
        memory = gs.to_device(np.zeros(1024, "i4"))
        for name in ("words", "bytes", "doubles", "words", "doubles", "bytes"):
            module[name][8, 32](memory)  # a finding would be raised
    assert (memory.numpy().view(np.int8)[: 8 * 32] == 1).all()


def test_the_finding_names_both_threads_the_element_and_how_often() -> None:
    (found,) = observed("    if (t == 70)\n        a[3] = x;\n", blocks=4)
    assert found.kind == "race"
    assert (found.block, found.thread) == ((1, 0, 0), (70, 0, 0))
    assert (found.other.kind, found.other.block, found.other.thread) == ("write", (0, 0, 0), (70, 0, 0))
    assert "writes a[3], which" in found.message
    assert "3 times" in found.message


def test_blocks_of_a_grid_of_three_dimensions_are_named() -> None:
    source = """extern "C" __global__ void kernel(int* a) {
        a[0] = blockIdx.x + 10 * blockIdx.y + 100 * blockIdx.z;
    }"""
    with gs.use(VirtualGPU(workers=1)):
        run = gs.cuda(source)["kernel"].observe((2, 3, 2), 1)(gs.to_device(np.zeros(1, "i4")))
    assert [(f.block, f.other.block) for f in run.findings] == [((1, 0, 0), (0, 0, 0))]


def test_many_races_of_one_pair_do_not_hide_another_pair() -> None:
    body = "    a[t] = i;\n    if (t == 0 && x == 7)\n        b[1023] = 0;\n    if (t == 0 && x == 6) b[1023] = 5;\n"
    lines = {(f.line, f.other.line) for f in observed(body, threads=128)}
    assert len(lines) == 2


def test_sanitize_looks_at_all_blocks_of_a_large_grid() -> None:
    body = "    if (x == 1001 && t == 0) a[0] = 5;\n    if (x == 1500 && t == 0) a[0] = 6;\n"
    assert [f.kind for f in observed(body, blocks=2000, threads=32)] == ["race"]


def test_an_atomic_of_its_blocks_scope_binds_no_other_block() -> None:
    """A fence before it does not help: order between blocks takes the device's scope on both sides."""
    ticket = """extern "C" __global__ void kernel(unsigned* tickets, unsigned* mine) {{
    __threadfence();
    asm volatile("atom.relaxed.{scope}.global.inc.u32 %0, [%1], %2;" : "=r"(mine[blockIdx.x]) : "l"(tickets), "r"(9u));
}}"""
    of_block, of_device = (gs.cuda(ticket.format(scope=scope))["kernel"] for scope in ("cta", "gpu"))
    with gs.use(VirtualGPU(workers=1)):
        arrays = [gs.to_device(np.zeros(n, np.uint32)) for n in (1, 3)]
        (found,) = of_block.observe(3, 1)(*arrays).findings
        assert found.kind == "race"
        assert "one block alone" in found.message
        assert "thread_scope_device" in found.message
        assert of_device.observe(3, 1)(*arrays).findings == ()
