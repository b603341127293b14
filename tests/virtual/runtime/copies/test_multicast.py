"""What blocks of a cluster send one another: remote mbarriers, st.async, red.async, bulk copies, multicast tiles."""

from __future__ import annotations

from collections.abc import Iterator

import cluster_kernels as ck
import numpy as np
import pytest
from machines import BUILDS_AND_GPU, opened_for_clusters

import gridstride as gs


@pytest.fixture(params=BUILDS_AND_GPU)
def machine(request: pytest.FixtureRequest) -> Iterator[str]:
    """The two builds of the virtual GPU, and the physical one."""
    yield from opened_for_clusters(request.param)


def integers(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(3).integers(-500, 500, shape).astype(np.int32)


def launch(source: str, name: str, grid: int, block: int, cluster: int, *args: object) -> None:
    flat = [a.reshape(-1) if isinstance(a, np.ndarray) else a for a in args]
    gs.cuda(source)[name].launch(grid=grid, block=block, args=flat, cluster=cluster)


@pytest.mark.parametrize("steps", [1, 2, 9])
def test_a_block_produces_for_another(machine: str, steps: int) -> None:
    x = integers((3, steps, 32))
    out = np.zeros_like(x)
    launch(ck.PIPELINE, "pipeline", 6, 32, 2, x, out, steps)
    assert (out == 2 * x[:, :, ::-1]).all()


@pytest.mark.parametrize("size", [1, 2, 8])
def test_stores_that_a_barrier_counts(machine: str, size: int) -> None:
    x = integers((8, 32))
    out = np.zeros((8, 32, 5), np.int32)
    launch(ck.STORES, "stores", 8, 32, size, x, out)
    block = np.arange(8)
    got = x[block // size * size + (block - 1) % size]
    per_block = [np.broadcast_to(f(got, axis=1, keepdims=True), got.shape) for f in (np.sum, np.max)]
    assert (out == np.stack([got, got, 2 * got + 3, *per_block], axis=2)).all()


@pytest.mark.parametrize("mask", [0b1111, 0b1011, 0b0001])
def test_bulk_copies_to_many_blocks_and_on(machine: str, mask: int) -> None:
    x = integers((2, 128))
    out = np.zeros((2, 4, 2, 64), np.int32)
    launch(ck.BULK, "bulk", 8, 64, 4, x, out, mask)
    for cluster in range(2):
        held = np.full((4, 128), -1, np.int32)
        for rank in range(4):
            if mask >> rank & 1:
                held[rank] = x[cluster]
        sent = held[:, :64] + np.arange(4)[:, None]
        assert (out[cluster, :, 0] == np.roll(sent, 1, axis=0)).all()
        assert (out[cluster, :, 1] == held[:, 64:]).all()


@pytest.mark.parametrize("size", [2, 4])
def test_blocks_load_a_tile_together(machine: str, size: int) -> None:
    x = np.random.default_rng(0).random((32, 64), np.float32)
    out = np.zeros((2 * size, 32, 32), np.float32)
    array = gs.to_device(x)
    launch(ck.TILE, "tile", 2 * size, 64, size, gs.tensor_map(array, (32 // size, 32)), out)
    for block in range(2 * size):
        tile = x[:, 32 * (block // size) :][:, :32]
        assert (out[block] == tile * np.float32(block % size + 1)).all()


@pytest.mark.parametrize("steps", [1, 3, 8])
def test_a_matrix_product_with_a_pipeline_across_blocks(machine: str, steps: int) -> None:
    draw = np.random.default_rng(5)
    a, b = (draw.integers(-4, 5, (n, steps, 16, 16)).astype(np.float32) for n in (4, 1))
    c = np.zeros((4, 16, 16), np.float32)
    launch(ck.MATMUL, "matmul", 4, 96, 2, a, b, c, steps)
    assert (c == np.einsum("nkij,kjl->nil", a, b[0])).all()


REDUCE = (
    ck.BARRIERS
    + """
extern "C" __global__ void k(const int *x, int *o) {
    // Every block adds its 64 numbers to those of rank 0.
    __shared__ alignas(16) int mine[64], total[64];
    __shared__ word bar;
    int t = threadIdx.x;
    mine[t] = x[blockIdx.x * 64 + t]; total[t] = 1;
    if (t == 0) { init(&bar, 1); expect(&bar, 256 * size()); }
    asm volatile("fence.proxy.async;" ::: "memory");
    cluster_sync();
    if (t == 0)
        asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.s32 "
            "[%0], [%1], 256, [%2];" :: "r"(map(at(total), 0)), "r"(at(mine)), "r"(map(at(&bar), 0)) : "memory");
    if (rank() == 0) { wait(&bar, 0); o[blockIdx.x / size() * 64 + t] = total[t]; }
    cluster_sync();
}
"""
)


def test_bulk_reductions_into_another_block(machine: str) -> None:
    x, out = integers((8, 64)), np.zeros((2, 64), np.int32)
    launch(REDUCE, "k", 8, 64, 4, x, out)
    assert (out == 1 + x.reshape(2, 4, 64).sum(1)).all()


LATE = (
    ck.BARRIERS
    + """
extern "C" __global__ void k(const int *x, int *o) {
    // The consumers wait long before the producer, in another block, starts the copy, which then ends at once.
    __shared__ alignas(16) int s[64];
    __shared__ word bar, go;
    int t = threadIdx.x;
    if (t == 0) { init(&bar, 1); init(&go, 1); if (rank() == 0) expect(&bar, 256); }
    cluster_sync();
    if (rank() == 0) {
        wait(&bar, 0);
        o[blockIdx.x / 2 * 64 + t] = s[t];
    } else if (t == 0) {
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
            "[%0], [%1], 256, [%2], %3;"
            :: "r"(at(s)), "l"(x + blockIdx.x / 2 * 64), "r"(at(&bar)), "h"((unsigned short)1) : "memory");
    }
}
"""
)


def test_a_block_may_end_before_its_copy_has_arrived(machine: str) -> None:
    x, out = integers((2, 64)), np.zeros((2, 64), np.int32)
    launch(LATE, "k", 4, 64, 2, x, out)
    assert (out == x).all()


ALONE = (
    ck.BARRIERS
    + """
extern "C" __global__ void k(const int *x, int *o) {
    __shared__ alignas(16) int s[32];
    __shared__ word bar;
    int t = threadIdx.x;
    if (t == 32) { init(&bar, 1); expect(&bar, 128); }
    __syncthreads();
    if (t == 32)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];"
            :: "r"(at(s)), "l"(x), "r"(at(&bar)) : "memory");
    if (t < 32) { wait(&bar, 0); o[t] = s[t]; }
}
"""
)


def test_a_warp_that_waits_first_is_woken_by_a_copy_of_another(machine: str) -> None:
    """Without clusters too: the warp that starts the copy ends, and nobody else looks at the barrier."""
    x, out = integers((32,)), np.zeros(32, np.int32)
    gs.cuda(ALONE)["k"][1, 64](x, out)
    assert (out == x).all()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1 << n", "1 << 5", "rank 4: the cluster has 4 blocks"),
        ("cp.async.bulk.tensor.2d", "cp.async.bulk.tensor.2d", None),
    ],
)
def test_a_multicast_to_a_block_that_is_not_there(gpu: gs.VirtualGPU, old: str, new: str, message: str | None) -> None:
    x = gs.to_device(np.zeros((32, 64), np.float32))
    args = (gs.tensor_map(x, (8, 32)), np.zeros(8 * 1024, np.float32))
    if message is None:
        launch(ck.TILE, "tile", 8, 64, 4, *args)
        return
    with pytest.raises(gs.KernelFault, match=message) as fault:
        launch(ck.TILE.replace(old, new), "tile", 8, 64, 4, *args)
    assert fault.value.kind == "out_of_bounds"


def test_a_barrier_of_another_block_that_nobody_completes(gpu: gs.VirtualGPU) -> None:
    source = ck.PIPELINE.replace("arrive_remote(map(at(&full[i % 2]), 1));", "")
    with pytest.raises(gs.KernelFault) as fault:
        launch(source, "pipeline", 2, 32, 2, integers((4, 32)), np.zeros(128, np.int32), 4)
    assert fault.value.kind == "deadlock"
    for part in ("block (0, 0, 0): warp 0 at the mbarrier in line 21", "block (1, 0, 0): warp 0 at the mbarrier"):
        assert part in str(fault.value)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("st.async.weak{}.b8 [%r1], %h1, [%r2];", "needs one of .b32"),
        ("red.async.relaxed.cluster{}.add.f32 [%r1], %f1, [%r2];", "needs one of .s32, .u32, .u64"),
        ("st.async.release.cluster{}.b32 [%r1], %r2, [%r2];", "cannot have '.async'"),
    ],
)  # fmt: skip
def test_forms_that_the_isa_does_not_have_are_refused(gpu: gs.VirtualGPU, text: str, what: str) -> None:
    text = text.format(".shared::cluster.mbarrier::complete_tx::bytes")
    ptx = f""".version 8.6
.target sm_90
.address_size 64
.visible .entry k() {{ .reg .b32 %r<3>; .reg .b16 %h<2>; .reg .f32 %f<2>; {text} ret; }}"""
    with pytest.raises(gs.PtxError, match=what):
        gs.ptx(ptx)["k"][1, 32]()
