"""CUDA kernels around wgmma with inline PTX, as people write them by hand for Hopper.

`pipelined`: C = A · Bᵀ, warp-specialised. One warpgroup's first thread brings tiles by TMA through a ring of full and
empty mbarriers, two others multiply 64 rows each. `simple`: one warpgroup, one tile, operands stored by its threads.
Both take A (m, k) and B (n, k), rows of 128 bytes at a time under the 128-byte swizzle.
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

import gridstride as gs


@dataclass(frozen=True)
class Kind:
    """Element types of A and B, of C, and how the instruction spells them."""

    dtype: type
    sums: type
    k: int
    types: str
    immediates: str


HALF = Kind(np.float16, np.float32, 16, "f32.f16.f16", ", 1, 1, 0, 0")
EIGHT = Kind(ml_dtypes.float8_e4m3fn, np.float32, 32, "f32.e4m3.e4m3", ", 1, 1")
BYTES = Kind(np.int8, np.int32, 32, "s32.s8.s8", "")
BM, BN, ROW, STAGES = 128, 128, 128, 3
STAGE_BYTES = (BM + BN) * ROW

HEAD = r"""
#include <stdint.h>
struct alignas(64) Map { char bytes[128]; };
__device__ uint32_t at(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
// K-major rows of 128 bytes under the 128-byte swizzle, groups of 8 rows 1024 bytes apart.
__device__ uint64_t descriptor(const void *p) {
    return ((uint64_t)(at(p) & 0x3ffff) >> 4) | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}
__device__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> __device__ void wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(N) : "memory"); }
"""

BARRIERS = r"""
__device__ void init(uint64_t *b, int n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at(b)), "r"(n)); }
__device__ void expect(uint64_t *b, int n) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(at(b)), "r"(n) : "memory");
}
__device__ void arrive(uint64_t *b) { asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(at(b)) : "memory"); }
__device__ void wait_for(uint64_t *b, int parity) {
    asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra L; }"
                 :: "r"(at(b)), "r"(parity) : "memory");
}
__device__ void bring(void *to, const Map *map, int x, int y, uint64_t *b) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" :: "r"(at(to)), "l"(map), "r"(x), "r"(y), "r"(at(b)) : "memory");
}
"""


def multiply(kind: Kind, n: int) -> str:
    """`multiply(d, a, b, added)`: one m64nNk32-bytes wgmma on descriptors."""
    count, c = n // 2, "f" if kind.sums is np.float32 else "r"
    registers = ", ".join(f"%{i}" for i in range(count))
    outputs = ", ".join(f'"+{c}"(d[{i}])' for i in range(count))
    type_ = {"f": "float", "r": "int"}[c]
    return f"""
typedef {type_} Sum;
__device__ __forceinline__ void multiply(Sum (&d)[{count}], uint64_t a, uint64_t b, int added) {{
    asm volatile("{{ .reg .pred p; setp.ne.b32 p, %{count + 2}, 0; "
        "wgmma.mma_async.sync.aligned.m64n{n}k{kind.k}.{kind.types} {{{registers}}}, "
        "%{count}, %{count + 1}, p{kind.immediates}; }}"
        : {outputs} : "l"(a), "l"(b), "r"(added));
}}
__device__ void store(const Sum (&d)[{count}], Sum *c, int row, int column, int n) {{
    int t = threadIdx.x % 128, r = row + t / 32 * 16 + t % 32 / 4;
    for (int i = 0; i < {count}; ++i)
        c[(r + i / 2 % 2 * 8) * n + column + i / 4 * 8 + t % 4 * 2 + i % 2] = d[i];
}}
"""


def pipelined(kind: Kind) -> str:
    """Grid (n / BN, m / BM), 384 threads, STAGES * STAGE_BYTES of dynamic shared memory."""
    per = ROW // np.dtype(kind.dtype).itemsize
    return f"""{HEAD}{BARRIERS}{multiply(kind, BN)}
extern "C" __global__ void __launch_bounds__(384)
pipelined(const __grid_constant__ Map a, const __grid_constant__ Map b, Sum *c, int n, int k) {{
    extern __shared__ __align__(1024) unsigned char tiles[];
    __shared__ uint64_t full[{STAGES}], empty[{STAGES}];
    int group = threadIdx.x / 128, steps = k / {per};
    if (threadIdx.x == 0)
        for (int i = 0; i < {STAGES}; ++i) {{ init(&full[i], 1); init(&empty[i], 2); }}
    __syncthreads();
    if (group == 0) {{
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0)
            for (int i = 0; i < steps; ++i) {{
                int stage = i % {STAGES};
                if (i >= {STAGES}) wait_for(&empty[stage], (i / {STAGES} - 1) & 1);
                unsigned char *to = tiles + stage * {STAGE_BYTES};
                expect(&full[stage], {STAGE_BYTES});
                bring(to, &a, i * {per}, blockIdx.y * {BM}, &full[stage]);
                bring(to + {BM * ROW}, &b, i * {per}, blockIdx.x * {BN}, &full[stage]);
            }}
    }} else {{
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        Sum d[{BN // 2}];
        for (int i = 0; i < steps; ++i) {{
            int stage = i % {STAGES};
            wait_for(&full[stage], i / {STAGES} & 1);
            unsigned char *from = tiles + stage * {STAGE_BYTES};
            fence();
            for (int part = 0; part < 4; ++part)
                multiply(d, descriptor(from + (group - 1) * 64 * {ROW} + 32 * part),
                         descriptor(from + {BM * ROW} + 32 * part), i + part > 0);
            commit();
            if (i > 0) {{
                wait<1>();  // the step before is through: its buffers are free
                if (threadIdx.x % 128 == 0) arrive(&empty[(i - 1) % {STAGES}]);
            }}
        }}
        wait<0>();
        store(d, c, blockIdx.y * {BM} + (group - 1) * 64, blockIdx.x * {BN}, n);
    }}
}}
"""


def simple(kind: Kind, n: int = 64) -> str:
    """One block of 128 threads: A (64, 128 bytes) times B (n, 128 bytes), both stored by the threads."""
    return f"""{HEAD}{multiply(kind, n)}
extern "C" __global__ void simple(const uint4 *a, const uint4 *b, Sum *c) {{
    __shared__ __align__(1024) uint4 left[64 * 8], right[{n} * 8];
    for (int i = threadIdx.x; i < 64 * 8; i += 128) left[i ^ (i / 8 % 8)] = a[i];
    for (int i = threadIdx.x; i < {n} * 8; i += 128) right[i ^ (i / 8 % 8)] = b[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    Sum d[{n // 2}];
    fence();
    for (int part = 0; part < 4; ++part)
        multiply(d, descriptor(left + 2 * part), descriptor(right + 2 * part), part > 0);
    commit();
    wait<0>();
    store(d, c, 0, 0, {n});
}}
"""


def numbers(kind: Kind, rows: int, columns: int, seed: int = 0) -> np.ndarray:
    """Random elements whose sums are small."""
    rng = np.random.default_rng(seed)
    if kind.sums is np.int32:
        return rng.integers(-128, 128, (rows, columns)).astype(kind.dtype)
    return rng.standard_normal((rows, columns)).astype(kind.dtype)


def reference(kind: Kind, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    wide = np.int64 if kind.sums is np.int32 else np.float64
    product: np.ndarray = a.astype(wide) @ b.astype(wide).T
    return product


def run_pipelined(kind: Kind, a: np.ndarray, b: np.ndarray, text: str = "") -> np.ndarray:
    """C on the device in use."""
    m, n, k = len(a), len(b), a.shape[1]
    kernel = gs.cuda(text or pipelined(kind))["pipelined"]
    per = ROW // np.dtype(kind.dtype).itemsize
    arrays = [gs.to_device(x) for x in (a, b)]
    maps = [gs.tensor_map(x, (128, per), swizzle=128) for x in arrays]
    c: np.ndarray = np.zeros((m, n), kind.sums)
    kernel[(n // BN, m // BM), 384, STAGES * STAGE_BYTES](*maps, c, n, k)
    return c


def run_simple(kind: Kind, a: np.ndarray, b: np.ndarray, text: str = "") -> np.ndarray:
    """C on the device in use."""
    c: np.ndarray = np.zeros((64, len(b)), kind.sums)
    kernel = gs.cuda(text or simple(kind, len(b)))["simple"]
    kernel[1, 128](*(x.view(np.uint8).reshape(-1, 16).view(np.uint32) for x in (a, b)), c)
    return c
