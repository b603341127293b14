"""Clusters that cannot be, and what goes wrong in others: bad addresses, deadlocks, blocks that have ended."""

from __future__ import annotations

import cluster_kernels as ck
import numpy as np
import pytest

import gridstride as gs

Dim3 = tuple[int, int, int]


def run(source: str, grid: int, block: int, cluster: int, words: int = 64) -> None:
    """A kernel `k` of one pointer."""
    out = np.zeros(words, np.int32)
    gs.cuda(ck.LIGHT + source)["k"].launch(grid=grid, block=block, args=[out], cluster=cluster)


# -- what is refused --------------------------------------------------------------------------------------------------
PLAIN = 'extern "C" __global__ void %s k(int *o) { *o = 1; }'
REFUSED = [
    ("", (6, 1, 1), (4, 1, 1), "k: grid.x = 6 is not a multiple of cluster.x = 4"),
    ("", (4, 3, 1), (2, 2, 1), "k: grid.y = 3 is not a multiple of cluster.y = 2"),
    ("", (32, 1, 1), (32, 1, 1), "cluster 32 x 1 x 1 has 32 blocks, the most is 16"),
    ("__launch_bounds__(128, 1, 4)", (8, 1, 1), (8, 1, 1), "has 8 blocks, this kernel allows 4"),
    ("__cluster_dims__(2, 1, 1)", (4, 1, 1), (4, 1, 1), "compiled for clusters of 2 x 1 x 1"),
    ("__cluster_dims__(2, 1, 1)", (3, 1, 1), None, "k: grid.x = 3 is not a multiple of cluster.x = 2"),
]


@pytest.mark.parametrize(("mark", "grid", "cluster", "message"), REFUSED, ids=[r[3] for r in REFUSED])
def test_launches_that_cannot_be_are_refused(
    gpu: gs.VirtualGPU, mark: str, grid: Dim3, cluster: Dim3 | None, message: str
) -> None:
    out = np.zeros(1, np.int32)
    with pytest.raises(gs.LaunchError, match=message):
        gs.cuda(PLAIN % mark)["k"].launch(grid=grid, block=32, args=[out], cluster=cluster)
    assert out[0] == 0


def test_chips_before_hopper_have_no_clusters() -> None:
    with gs.use(gs.VirtualGPU("a100")), pytest.raises(gs.LaunchError, match="no clusters; they need compute cap"):
        gs.cuda(PLAIN % "")["k"].launch(grid=4, block=32, args=[np.zeros(1, np.int32)], cluster=2)


def test_a_kernel_may_insist_on_clusters(gpu: gs.VirtualGPU) -> None:
    text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() .explicitcluster { ret; }"
    with pytest.raises(gs.LaunchError, match="must be launched with a cluster"):
        gs.ptx(text)["k"][4, 32]()
    gs.ptx(text)["k"].launch(grid=4, block=32, cluster=2)


# -- what goes wrong --------------------------------------------------------------------------------------------------
READS = """extern "C" __global__ void k(int *o) {
    __shared__ int s[32];
    auto cluster = cg::this_cluster();
    s[threadIdx.x] = cluster.block_rank();
    cluster.sync();
    o[threadIdx.x] = %s;
    %s
}"""
FAULTS = [
    ("cluster.map_shared_rank(s, 2)[0]", "cluster.sync();", "out_of_bounds", r"rank 2: the cluster has 2 blocks"),
    ("cluster.map_shared_rank(s, 1)[threadIdx.x + 1]", "cluster.sync();", "out_of_bounds", "offset 128 of .* rank 1"),
    ("cluster.map_shared_rank(s, 1)[(int)threadIdx.x - 1]", "cluster.sync();", "out_of_bounds", "offset -4 .* rank 1"),
    ("*(int *)((char *)cluster.map_shared_rank(s, 1) + 2)", "cluster.sync();", "misaligned", "not a multiple of 4"),
]  # fmt: skip


@pytest.mark.parametrize("sanitize", [False, True], ids=["fast", "observed"])
@pytest.mark.parametrize(("access", "after", "kind", "message"), FAULTS, ids=[f[2] + f[3][-6:] for f in FAULTS])
def test_a_bad_access_to_another_block_stops_the_launch(
    gpu: gs.VirtualGPU, access: str, after: str, kind: str, message: str, sanitize: bool
) -> None:
    gpu.sanitize = sanitize
    with pytest.raises(gs.KernelFault, match=message) as fault:
        run(READS % (access, after), 4, 32, 2)
    assert (fault.value.kind, fault.value.line) == (kind, 8)


EXITED = READS % ("cluster.map_shared_rank(s, 1)[threadIdx.x]", "")
"""No block waits for those that read its memory."""


def test_reading_a_block_that_has_ended_is_a_finding(gpu: gs.VirtualGPU) -> None:
    gpu.sanitize = True
    with pytest.raises(gs.KernelFault, match="rank 1, which has ended") as fault:
        run(EXITED, 4, 32, 2)
    assert (fault.value.kind, fault.value.line) == ("exited_block", 8)


@pytest.mark.parametrize("pointer", ["mapa", "generic"])
def test_without_the_sanitizer_it_goes_through_with_a_warning(gpu: gs.VirtualGPU, pointer: str) -> None:
    """As on hardware, where the memory is there until another block gets it; the copies that people make run so."""
    body = 'asm("{ .reg .b32 a; mapa.shared::cluster.u32 a, %1, 1; ld.shared::cluster.u32 %0, [a]; }" : "=r"(v) : '
    body += '"r"((int)__cvta_generic_to_shared(s + threadIdx.x)));'
    source = """extern "C" __global__ void k(int *o) {
    __shared__ int s[64];
    auto cluster = cg::this_cluster();
    s[threadIdx.x] = 7 * cluster.block_rank();
    cluster.sync();
    if (cluster.block_rank() == 1) return;
    int v = 0;
    READ
    o[threadIdx.x] = v;
}""".replace("READ", body if pointer == "mapa" else "v = cluster.map_shared_rank(s, 1)[threadIdx.x];")
    out = np.zeros(64, np.int32)
    with pytest.warns(RuntimeWarning, match=r"\d+: k: access of 4 bytes at offset \d+ of .* rank 1, which has ended"):
        gs.cuda(ck.LIGHT + source)["k"].launch(grid=4, block=64, args=[out], cluster=2)
    assert (out == 7).all()


def test_a_deadlock_says_who_waits_where_in_the_whole_cluster(gpu: gs.VirtualGPU) -> None:
    with pytest.raises(gs.KernelFault) as fault:
        run(
            """extern "C" __global__ void k(int *o) {
            auto cluster = cg::this_cluster();
            if (cluster.block_rank() == 2) return;
            if (cluster.block_rank() != 1 || threadIdx.x < 32)
                asm volatile("barrier.cluster.arrive; barrier.cluster.wait;");
            else __syncthreads();
        }""",
            8, 64, 4,
        )  # fmt: skip
    assert fault.value.kind == "deadlock"
    said = str(fault.value)
    assert "block (0, 0, 0): warps 0, 1 at the cluster barrier in line 7" in said
    assert "block (1, 0, 0): warp 0 at the cluster barrier in line 7, warp 1 at the barrier in line 8" in said
    assert "block (2, 0, 0) has ended" in said


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('asm volatile("barrier.cluster.wait;");', "no barrier.cluster.arrive before it"),
        ('asm volatile("barrier.cluster.arrive; barrier.cluster.arrive;");', "second barrier.cluster.arrive"),
    ],
)
def test_a_barrier_out_of_turn_is_told(gpu: gs.VirtualGPU, body: str, message: str) -> None:
    with pytest.raises(gs.KernelFault, match=message) as fault:
        run(f'extern "C" __global__ void k(int *o) {{ {body} }}', 2, 32, 2)
    assert fault.value.kind == "cluster_barrier"


def test_a_plain_shared_access_does_not_reach_another_block(gpu: gs.VirtualGPU) -> None:
    ptx = """.version 8.6
.target sm_90
.address_size 64
.visible .entry k() {
    .reg .b32 %r<3>;
    .shared .align 4 .b8 data[128];
    mov.u32 %r1, data;
    mapa.shared::cluster.u32 %r2, %r1, 1;
    ld.shared.b32 %r1, [%r2];
    ret;
}"""
    with pytest.raises(gs.KernelFault, match=r"block rank 1, which ld\.shared::cluster\.b32 reaches") as fault:
        gs.ptx(ptx)["k"].launch(grid=2, block=32, cluster=2)
    assert fault.value.kind == "out_of_bounds"
