"""What the observed build finds between the blocks of a cluster, and what it must not find."""

from __future__ import annotations

from collections.abc import Callable

import cluster_kernels as ck
import numpy as np
import pytest
from host_arrays import zeros

import gridstride as gs

Found = list[tuple[str, int | None, int | None]]
Case = Callable[[str], Found]


X = np.random.default_rng(0).integers(0, 64, 2000).astype(np.int32)


def observed(source: str, name: str, grid: int, block: int, cluster: int, *args: object, shared: int = 0) -> Found:
    """Kind, line and the other side's line of each finding."""
    run = gs.cuda(ck.light(source))[name].observe(grid, block, shared, cluster=cluster)(*args)
    return [(f.kind, f.line, f.other.line if f.other else None) for f in run.findings]


def histogram(source: str) -> Found:
    return observed(source, "histogram", 8, 64, 4, X, X.size, 64, zeros(64), shared=64)


def ring(source: str) -> Found:
    return observed(source, "ring", 8, 64, 4, zeros(512), 3)


def reduce(source: str) -> Found:
    return observed(source, "reduce", 8, 64, 4, X.astype(np.float32), X.size, np.zeros(2, np.float32))


def pipeline(source: str) -> Found:
    return observed(source, "pipeline", 4, 32, 2, X[:256], zeros(256), 4)


def stores(source: str) -> Found:
    return observed(source, "stores", 8, 32, 4, X[:256], zeros(8 * 32 * 5))


def bulk(source: str) -> Found:
    return observed(source, "bulk", 8, 64, 4, X[:256], zeros(1024), 0b1011)


def matmul(source: str) -> Found:
    a, b = np.ones(4 * 8 * 256, np.float32), np.ones(8 * 256, np.float32)
    return observed(source, "matmul", 4, 96, 2, a, b, np.zeros(1024, np.float32), 8)


def without(source: str, text: str, which: int = 1) -> str:
    """The source without one occurrence of a text, counted from 1."""
    parts = source.split(text)
    assert len(parts) > which, text
    return text.join(parts[:which]) + text.join(parts[which:])


CASES = [(histogram, ck.HISTOGRAM), (ring, ck.RING), (reduce, ck.REDUCE), (pipeline, ck.PIPELINE),
         (stores, ck.STORES), (bulk, ck.BULK), (matmul, ck.MATMUL)]  # fmt: skip


@pytest.mark.parametrize(("case", "source"), CASES, ids=[c[0].__name__ for c in CASES])
def test_what_is_right_is_silent(gpu: gs.VirtualGPU, case: Case, source: str) -> None:
    assert case(source) == []


SYNC = "cluster.sync();"
OWN_ONLY = ck.MATMUL.replace("init(&empty[i], 4)", "init(&empty[i], 2)").replace(
    "if (lane < 2) arrive_remote(map(at(&empty[s]), lane))", "if (lane == 0) arrive_remote(at(&empty[s]))"
)
"""Consumers free a stage for their own block's producer alone, though the other block's writes there too."""
WRONG = [
    ("bins not cleared yet", histogram, without(ck.HISTOGRAM, SYNC, 1), ("race", 8, 12)),
    ("blocks not begun yet", histogram, without(ck.HISTOGRAM, SYNC, 1), ("unstarted_block", 12, None)),
    ("bins read too early", histogram, without(ck.HISTOGRAM, SYNC, 2), ("race", 12, 15)),
    ("numbers read too early", ring, without(ck.RING, SYNC, 2), ("race", 12, 12)),
    ("written before it begins", ring, without(ck.RING, SYNC, 1), ("unstarted_block", 12, None)),
    ("parts read too early", reduce, without(ck.REDUCE, SYNC, 1), ("race", 10, 15)),
    ("block ends too early", reduce, without(ck.REDUCE, SYNC, 2), ("exited_block", 15, None)),
    ("buffer read without waiting", pipeline, ck.PIPELINE.replace("wait(&full[i % 2], i / 2 % 2);", ""),
     ("race", 35, 42)),
    ("stores not waited for", stores, ck.STORES.replace("wait(&bar, 0);", ""), ("unwaited_copy", 48, 38)),
    ("multicast not waited for", bulk, ck.BULK.replace("if (chosen) wait(&first, 0);", ""), ("unwaited_copy", 43, 39)),
    ("copy of a peer not waited for", bulk, ck.BULK.replace("wait(&second, 0);", ""), ("unwaited_copy", 50, 47)),
    ("no proxy fence", bulk, without(ck.BULK, 'asm volatile("fence.proxy.async;" ::: "memory");'),
     ("proxy_fence", 47, 43)),
    ("a peer's tile overwritten", matmul, OWN_ONLY, ("race", 43, 54)),
    ("a tile read after the next came", matmul, OWN_ONLY, ("race", 54, 43)),
]  # fmt: skip


@pytest.mark.parametrize(("case", "source", "found"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_what_is_missing_is_found(
    gpu: gs.VirtualGPU, case: Case, source: str, found: tuple[str, int, int | None]
) -> None:
    assert found in case(source)


def test_a_race_names_both_blocks(gpu: gs.VirtualGPU) -> None:
    source = without(ck.REDUCE, SYNC, 1)
    run = gs.cuda(ck.light(source))["reduce"].observe((2, 2), 64, cluster=(2, 2))(
        X.astype(np.float32), X.size, np.zeros(2, np.float32)
    )
    race = next(f for f in run.findings if f.kind == "race")
    assert race.other is not None
    assert (race.block, race.other.block) == ((1, 0, 0), (0, 0, 0))
    assert "writes shared memory of block (1, 0, 0) (rank 1) at offset 0" in race.message
    assert "thread (0, 0, 0) of block (0, 0, 0) read in line 15" in race.message


ENDS = (
    ck.HEAD
    + """
extern "C" __global__ void k(int *o) {
    __shared__ int s[32];
    auto cluster = cg::this_cluster();
    s[threadIdx.x] = threadIdx.x;
    cluster.sync();
    if (cluster.block_rank() == 1) o[threadIdx.x] = cluster.map_shared_rank(s, 0)[threadIdx.x];
}
"""
)


def test_a_block_that_happens_to_be_there_still_may_be_gone_another_day(gpu: gs.VirtualGPU) -> None:
    """Rank 1 comes last here and goes on at once, so its read goes well; nothing makes rank 0 wait for it."""
    out = zeros(32)
    run = gs.cuda(ck.light(ENDS))["k"].observe(2, 32, cluster=2)(out)
    (found,) = run.findings
    assert (found.kind, found.line, found.block) == ("exited_block", 9, (1, 0, 0))
    assert "block (0, 0, 0) (rank 0), which does not wait for that before it ends" in found.message
    kept = ENDS.replace("[threadIdx.x];\n}", "[threadIdx.x];\n    cluster.sync();\n}")
    assert gs.cuda(ck.light(kept))["k"].observe(2, 32, cluster=2)(out).findings == ()


FLAG = (
    ck.HEAD
    + """
extern "C" __global__ void k(int *o) {
    // Rank 1 waits for a flag in its own shared memory that rank 0 raises: %s
    __shared__ int data[32], flag;
    auto cluster = cg::this_cluster();
    int t = threadIdx.x;
    if (t == 0) flag = 0;
    cluster.sync();
    if (cluster.block_rank() == 0) {
        cluster.map_shared_rank(data, 1)[t] = t + 7;
        __threadfence();
        __syncthreads();
        if (t == 0) atomicExch(cluster.map_shared_rank(&flag, 1), 1);
    } else {
        if (t == 0) while (atomicAdd(&flag, 0) == 0);
        __threadfence();
        __syncthreads();
        o[t] = data[31 - t];
    }
    cluster.sync();
}
"""
)


def test_flags_and_fences_order_blocks(gpu: gs.VirtualGPU) -> None:
    out = zeros(32)
    run = gs.cuda(ck.light(FLAG))["k"].observe(4, 32, cluster=2)(out)
    assert run.findings == ()
    assert out.tolist() == [38 - t for t in range(32)]


def test_bytes_of_one_word_are_apart(gpu: gs.VirtualGPU) -> None:
    source = (
        ck.HEAD
        + """extern "C" __global__ void k(int *o) {
        __shared__ unsigned char s[64];
        auto cluster = cg::this_cluster();
        cluster.sync();
        cluster.map_shared_rank(s, 0)[4 * threadIdx.x % 64 + cluster.block_rank()] = cluster.block_rank();
        cluster.sync();
        if (cluster.block_rank() == 0) o[threadIdx.x] = s[0];
        cluster.sync();
    }"""
    )
    assert observed(source, "k", 4, 16, 4, zeros(16)) == []
