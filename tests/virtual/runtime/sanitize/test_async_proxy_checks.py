"""Bulk copies that were waited for in part, or not at all, or that read what no proxy fence has shown them."""

from __future__ import annotations

import cluster_kernels as ck
import numpy as np
import pytest

import gridstride as gs

HEAD = """
__device__ __align__(128) int part[64][32];
__device__ unsigned ticket;
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void out(void* to, const void* from) {
    asm volatile("fence.proxy.async;\\n cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;\\n"
                 "cp.async.bulk.commit_group;" :: "l"(to), "r"(at(from)) : "memory");
}
#define WAIT(how) asm volatile("cp.async.bulk.wait_group" how " 0;" ::: "memory")
#define FENCE asm volatile("fence.proxy.async;" ::: "memory")
__device__ void in(unsigned bar, void* to, const void* from) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;\\n"
                 "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%1], [%2], 128, [%0];"
                 :: "r"(bar), "r"(at(to)), "l"(from) : "memory");
}
__device__ void wait(unsigned bar) {
    asm volatile("{ .reg .pred p;\\n L: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\\n @!p bra L; }"
                 :: "r"(bar) : "memory");
}
extern "C" __global__ void k(int* o) {
    __shared__ __align__(128) int s[32], r[32];
    __shared__ unsigned long long bar;
    const int t = threadIdx.x, x = blockIdx.x;
    if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&bar)) : "memory");
    s[t] = t + x + 1;
    __syncthreads();
"""


def found(body: str, grid: int = 4) -> list[tuple[str, str]]:
    """Kind and message of each finding of a kernel of blocks of 32 threads."""
    kernel = gs.cuda(HEAD + body + "\n}\n")["k"]
    return [(f.kind, f.message) for f in kernel.observe(grid, 32)(np.zeros(256, np.int32)).findings]


LAST = """
    if (t) return;
    out(part[x], s);
    WAITS
    __threadfence();
    if (atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1) {
        __threadfence();
        for (int b = 0; b < gridDim.x; b++) o[b] = part[b][0];
    }
"""


@pytest.mark.parametrize(
    ("waits", "kinds"),
    [
        ('WAIT(".read");', {"race"}),
        ('WAIT(".read"); __threadfence();', {"race"}),
        ('WAIT("");', set()),
        ('WAIT(".read"); WAIT("");', set()),
        ('WAIT(".read"); out(part[x], s); WAIT("");', set()),
    ],
)
def test_a_source_that_was_read_is_not_yet_a_target_that_was_written(
    gpu: gs.VirtualGPU, waits: str, kinds: set[str]
) -> None:
    assert {kind for kind, _ in found(LAST.replace("WAITS", waits))} == kinds


def test_a_wait_for_the_source_lets_it_be_used_again(gpu: gs.VirtualGPU) -> None:
    again = 'if (t == 0) { out(part[x], s); WAIT(".read"); } __syncthreads(); s[t] = 0; __syncthreads(); o[t] = s[t];'
    assert found(again) == []


@pytest.mark.parametrize(("waits", "kinds"), [("", {"unwaited_copy"}), ('WAIT(".read");', set()), ('WAIT("");', set())])
def test_a_block_does_not_end_before_its_shared_memory_was_read(
    gpu: gs.VirtualGPU, waits: str, kinds: set[str]
) -> None:
    findings = found("if (t == 0) { out(part[x], s); WAITS }".replace("WAITS", waits))
    assert {kind for kind, _ in findings} == kinds
    assert all("may not have read shared memory at offset" in message for _, message in findings)


@pytest.mark.parametrize(
    ("store", "kinds"),
    [
        ("part[x][t] = t; __syncthreads();", {"proxy_fence"}),
        ("part[x][t] = t; FENCE; __syncthreads();", set()),
        ("part[x][t] = t; __syncthreads(); FENCE;", set()),
        ("part[x][31 - t] = t; __threadfence(); __syncthreads();", {"proxy_fence"}),
        ("atomicAdd(&part[x][t], 1); __syncthreads();", {"proxy_fence"}),
        ('if (t == 0) { out(part[x], s); WAIT(""); }', set()),
        ("", set()),
    ],
)
def test_a_bulk_copy_needs_a_proxy_fence_for_what_its_block_stored_in_global_memory(
    gpu: gs.VirtualGPU, store: str, kinds: set[str]
) -> None:
    load = "if (t == 0) in(at(&bar), r, part[x]);\n wait(at(&bar));\n o[32 * x + t] = r[t];"
    findings = found(store + load)
    assert {kind for kind, _ in findings} == kinds
    assert all("with no fence.proxy.async since" in message for _, message in findings)


ASYNC = (
    ck.HEAD
    + """
extern "C" __global__ void k(int *o) {
    __shared__ __align__(16) TYPE s[32];
    __shared__ unsigned long long bar;
    auto cluster = cg::this_cluster();
    unsigned here = (unsigned)__cvta_generic_to_shared(&bar), to = (unsigned)__cvta_generic_to_shared(s + threadIdx.x);
    TYPE v = {VALUE};
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(here) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(here), "n"(32 * sizeof(TYPE)));
    }
    cluster.sync();
    if (cluster.block_rank() == 1) {
        asm volatile("mapa.shared::cluster.u32 %0, %0, 0;\\n mapa.shared::cluster.u32 %1, %1, 0;"
                     : "+r"(to), "+r"(here));
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.STORE;"
                     :: "r"(to), "r"(here), OPERANDS : "memory");
    } else if (WAITS)
        asm volatile("{ .reg .pred p;\\n L: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0;\\n"
                     "@!p bra L; }" :: "r"(here) : "memory");
    cluster.sync();
    if (cluster.block_rank() == 0) o[threadIdx.x] = s[threadIdx.x]MEMBER;
}
"""
)
STORES = {
    "b32": ("int", "(int)threadIdx.x + 5", "b32 [%0], %2, [%1]", '"r"(v)', ""),
    "b64": ("long long", "threadIdx.x + 5", "b64 [%0], %2, [%1]", '"l"(v)', ""),
    "v4.b32": ("int4", "1, 2, 3, (int)threadIdx.x + 5", "v4.b32 [%0], {%2, %3, %4, %5}, [%1]",
               '"r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)', ".w"),
}  # fmt: skip


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("form", list(STORES))
def test_a_store_that_goes_on_by_itself_has_not_arrived_at_the_cluster_s_barrier(
    gpu: gs.VirtualGPU, form: str, waits: bool
) -> None:
    source = ASYNC.replace("WAITS", str(int(waits)))
    for name, word in zip(("TYPE", "VALUE", "STORE", "OPERANDS", "MEMBER"), STORES[form], strict=True):
        source = source.replace(name, word)
    out = np.zeros(32, np.int32)
    run = gs.cuda(ck.light(source))["k"].observe(2, 32, cluster=2)(out)
    assert {f.kind for f in run.findings} == (set() if waits else {"unwaited_copy"})
    assert (out.tolist() == [t + 5 for t in range(32)]) == waits
