"""Matrix products as fast libraries write them for Hopper: rings of stages, roles, clusters, tile schedulers."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
from suite import Case, Twin, compiled, text_of

import gridstride as gs

DTYPES = (np.float16, ml_dtypes.float8_e4m3fn, np.int8)
Z, M, N, K = 2, 300, 112, 208
"""Ragged: rows and columns that end inside of a tile, and steps along k too."""


def operands(dtype: type, *shape: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype is np.int8:
        return rng.integers(-128, 128, shape).astype(dtype)
    return (rng.standard_normal(shape) / 2).astype(dtype)


def run_cluster(kind: int, clusters: int = 2) -> Callable[[str], np.ndarray]:
    """The persistent kernel on so many clusters of two blocks."""

    def run(text: str) -> np.ndarray:
        dtype = DTYPES[kind]
        a, b = operands(dtype, Z, M, K, seed=1), operands(dtype, Z, N, K, seed=2)
        scale_a, scale_b = (np.random.default_rng(3).uniform(0.5, 2, n).astype(np.float32) for n in (Z * M, Z * N))
        c = gs.to_device(np.full((Z, M, N), 99, np.int32 if kind == 2 else np.float16))
        step = 128 // a.itemsize
        maps = [gs.tensor_map(gs.to_device(x), (1, rows, step), swizzle=128) for x, rows in ((a, 128), (b, 32))]
        maps.append(gs.tensor_map(c, (1, 64, 64)))
        kernel = compiled(text)["gemm"]
        shared = 3 * 192 * 128 + 2 * 64 * 64 * c.dtype.itemsize + 128
        kernel.launch(grid=2 * clusters, block=384, shared=shared,
                      args=(*maps, scale_a, scale_b, np.zeros(1, np.int32), Z, M, N, K))  # fmt: skip
        wide = np.int64 if kind == 2 else np.float64
        want = a.astype(wide) @ b.astype(wide).swapaxes(1, 2)
        if kind == 1:
            want = want * scale_a.reshape(Z, M, 1) * scale_b.reshape(Z, 1, N)
        limit = (5e-3, 2e-2, 0)[kind]
        np.testing.assert_allclose(c.numpy(), want, rtol=limit, atol=limit)
        return c.numpy()

    return run


CLUSTER_TWINS = (
    Twin("stage given back before the wait", "wgmma_wait<0>();\n                if (t", "if (t",
         ("wgmma_register", "wgmma_operand")),
    Twin("producer does not wait for the stage", "wait_for(&s.empty[stage], turn / STAGES + 1 & 1);", "",
         ("race", "wgmma_operand", "mbarrier")),
    Twin("no wgmma fence", "wgmma_fence();\n                for", "for", ("wgmma_fence", "wgmma_register")),
    Twin("no proxy fence before the copy out", "proxy_fence();\n            meet", "meet", ("proxy_fence",)),
    Twin("no barrier before the copy out", "meet(1 + half_, 128);\n            if (t == 0) put(", "if (t == 0) put(",
         ("race", "unwaited_copy")),
    Twin("staging written while the copy reads", "if (t == 0) put_read();", "", ("race", "unwaited_copy")),
    Twin("consumers do not wait for the tile", "wait_for(&s.full[stage], turn / STAGES & 1);", "",
         ("race", "mbarrier", "wgmma_operand")),
    Twin("blocks of the cluster end alone", "    }\n    cluster_sync();\n}", "    }\n}", ("exited_block",)),
    Twin("no meeting after the barriers are made", "    cluster_sync();\n    Scheduler", "    Scheduler",
         ("mbarrier", "race", "unstarted_block")),
    Twin("barrier counts one block", "init(&s.empty[i], 2 * CLUSTER)", "init(&s.empty[i], 2)",
         ("race", "wgmma_operand", "mbarrier")),
)  # fmt: skip

CLUSTER = [
    Case(f"cluster-{('f16', 'e4m3', 's8')[kind]}-{('static', 'dynamic')[dynamic]}",
         text_of("gemm_cluster.cu", TYPE=kind, DYNAMIC=dynamic), run_cluster(kind),
         CLUSTER_TWINS if (kind, dynamic) == (0, 1) else (), exact=kind != 1)
    for kind, dynamic in ((0, 0), (0, 1), (1, 1), (2, 0))
]  # fmt: skip


def run_mma(split: int) -> Callable[[str], np.ndarray]:
    """100 x 90 x 200, with K in four parts where it is split."""

    def run(text: str) -> np.ndarray:
        m, n, k, parts = 100, 90, 200, 4 if split else 1
        a, b = operands(np.float16, m, k, seed=1), operands(np.float16, n, k, seed=2)
        c = np.zeros((m, n), np.float32)
        compiled(text)["gemm"].launch(grid=(2, 2, parts), block=128, cluster=(1, 1, parts) if split == 1 else None,
                                      args=(a, b, c, np.zeros(4, np.int32), m, n, k))  # fmt: skip
        np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64).T, atol=1e-4)
        return c

    return run


MMA_TWINS = (
    (Twin("no barrier in the loop", "__syncthreads();  // the step", "// the step", ("race", "unwaited_copy")),),
    (
        Twin("parts read before the blocks have met", "    cluster_sync();\n    int rows", "    int rows",
             ("race", "unstarted_block")),
        Twin("blocks end while others read", "cluster_sync();  // the others", "// the others", ("exited_block",)),
    ),
    (
        Twin("no fence before the turn is handed on", "    __threadfence();\n    __syncthreads();\n    if (t == 0) *",
             "    if (t == 0) *"),
        Twin("nobody waits for the turn",
             "if (t == 0) { while (*(volatile int *)semaphore != blockIdx.z) {} __threadfence(); }",
             ""),
    ),
)  # fmt: skip
MMA = [
    Case(f"mma-{('plain', 'cluster-split', 'semaphore-split')[split]}", text_of("gemm_mma.cu", SPLIT=split),
         run_mma(split), MMA_TWINS[split], exact=False)
    for split in range(3)
]  # fmt: skip

CASES = [*CLUSTER, *MMA]
