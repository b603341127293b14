"""ldmatrix, stmatrix, movmatrix, wmma.load and wmma.store, and tensor-core kernels as people write them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.findings.finding import KernelFault

LANES = 32


def launch(source: str, name: str, *arguments: object, threads: int = LANES, grid: object = 1) -> None:
    with gs.use("virtual"):
        gs.cuda(source)[name][grid, threads](*arguments)


# -- ldmatrix, stmatrix, movmatrix ------------------------------------------------------------------------------------
def exchange(number: int, *, load_transposed: bool, store_transposed: bool, order: str) -> str:
    """A warp copies `tiles` to shared memory, reads them by ldmatrix, writes them by stmatrix, and shows all three."""
    registers = ", ".join(f"%{i}" for i in range(number))
    last = f"%{number}"
    outputs = ", ".join(f'"=r"(r[{i}])' for i in range(number))
    inputs = ", ".join(f'"r"(r[{i}])' for i in range(number))
    load = f"ldmatrix.sync.aligned.m8n8.x{number}{'.trans' * load_transposed}.shared.b16 {{{registers}}}, [{last}];"
    store_list = ", ".join(f"%{i + 1}" for i in range(number))
    store = f"stmatrix.sync.aligned.m8n8.x{number}{'.trans' * store_transposed}.shared.b16 [%0], {{{store_list}}};"
    return f"""
extern "C" __global__ void exchange(const unsigned *tiles, unsigned *held, unsigned *back) {{
    __shared__ __align__(16) unsigned before[{number} * 32], after[{number} * 32];
    int lane = threadIdx.x;
    unsigned r[4];
    for (int i = 0; i < {number}; i++) before[i * 32 + lane] = tiles[i * 32 + lane];
    __syncwarp();
    int row = {order};
    unsigned from = __cvta_generic_to_shared(before) + 16 * row, to = __cvta_generic_to_shared(after) + 16 * row;
    asm volatile("{load}" : {outputs} : "r"(from));
    asm volatile("{store}" :: "r"(to), {inputs} : "memory");
    __syncwarp();
    for (int i = 0; i < {number}; i++) {{ held[i * 32 + lane] = r[i]; back[i * 32 + lane] = after[i * 32 + lane]; }}
}}"""


@pytest.mark.parametrize("store_transposed", [False, True])
@pytest.mark.parametrize("load_transposed", [False, True])
@pytest.mark.parametrize("number", [1, 2, 4])
def test_matrices_go_through_registers_as_the_isa_places_them(
    number: int, load_transposed: bool, store_transposed: bool
) -> None:
    tiles = np.arange(number * 64, dtype=np.uint16).reshape(number, 8, 8)
    held, back = np.zeros((number, 8, 4, 2), np.uint16), np.zeros((number, 8, 8), np.uint16)
    # Rows in a scrambled order: lane l names row 5l + 3 of all.
    order = f"lane < {8 * number} ? (5 * lane + 3) % {8 * number} : 1000000"
    source = exchange(number, load_transposed=load_transposed, store_transposed=store_transposed, order=order)
    launch(source, "exchange", tiles.view(np.uint32), held.view(np.uint32), back.view(np.uint32))
    rows = [(5 * lane + 3) % (8 * number) for lane in range(8 * number)]
    named = tiles.reshape(-1, 8)[rows].reshape(number, 8, 8)
    seen = named.transpose(0, 2, 1) if load_transposed else named
    np.testing.assert_array_equal(held.reshape(number, 8, 8), seen)
    written = seen.transpose(0, 2, 1) if store_transposed else seen
    restored = np.zeros_like(tiles).reshape(-1, 8)
    restored[rows] = written.reshape(-1, 8)
    np.testing.assert_array_equal(back, restored.reshape(number, 8, 8))


def test_movmatrix_transposes() -> None:
    source = """
extern "C" __global__ void turn(const unsigned *a, unsigned *b) {
    unsigned r;
    asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(a[threadIdx.x]));
    b[threadIdx.x] = r;
}"""
    tile, turned = np.arange(64, dtype=np.uint16).reshape(8, 8), np.zeros((8, 8), np.uint16)
    launch(source, "turn", tile.view(np.uint32), turned.view(np.uint32))
    np.testing.assert_array_equal(turned, tile.T)


def test_ldmatrix_takes_generic_addresses_of_shared_memory() -> None:
    source = """
extern "C" __global__ void generic(const unsigned *a, unsigned *b) {
    __shared__ __align__(16) unsigned tile[32];
    tile[threadIdx.x] = a[threadIdx.x];
    __syncwarp();
    unsigned r;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.b16 {%0}, [%1];" : "=r"(r) : "l"(tile + 4 * (threadIdx.x & 7)));
    b[threadIdx.x] = r;
}"""
    tile, seen = np.arange(32, dtype=np.uint32), np.zeros(32, np.uint32)
    launch(source, "generic", tile, seen)
    np.testing.assert_array_equal(seen, tile)


ROW = """
extern "C" __global__ void row(unsigned *out, int which, int by) {
    __shared__ __align__(16) unsigned tile[128];
    tile[threadIdx.x] = 0;
    unsigned at = __cvta_generic_to_shared(tile) + 16 * threadIdx.x, r[4] = {1, 2, 3, 4};
    if (threadIdx.x == which) at += by;
    __syncwarp();
    %s
    out[threadIdx.x] = r[0];
}"""
LOAD = """asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));"""
STORE = """asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
        :: "r"(at), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");"""


@pytest.mark.parametrize("access", [LOAD, STORE], ids=["ldmatrix", "stmatrix"])
@pytest.mark.parametrize(("by", "kind"), [(8, "misaligned"), (512, "out_of_bounds"), (-512, "out_of_bounds")])
def test_a_row_outside_or_misaligned_is_a_finding(access: str, by: int, kind: str) -> None:
    with pytest.raises(KernelFault) as caught:
        launch(ROW % access, "row", np.zeros(LANES, np.uint32), 13, by)
    found = caught.value.findings[0]
    assert found.kind == kind
    assert found.thread == (13, 0, 0)
    assert found.line is not None
    assert "asm volatile" in (ROW % access).splitlines()[found.line - 1]


# -- wmma -------------------------------------------------------------------------------------------------------------
WMMA = """
#include <mma.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
using namespace nvcuda;
extern "C" __global__ void multiply(
    const %(T)s *a, const %(T)s *b, const %(S)s *c, %(S)s *d, int lda, int ldb, int ldc) {
    %(stage)s
    wmma::fragment<wmma::matrix_a, %(m)d, %(n)d, %(k)d, %(F)s, wmma::%(la)s> fa;
    wmma::fragment<wmma::matrix_b, %(m)d, %(n)d, %(k)d, %(F)s, wmma::%(lb)s> fb;
    wmma::fragment<wmma::accumulator, %(m)d, %(n)d, %(k)d, %(S)s> fc;
    wmma::load_matrix_sync(fa, %(from)s, lda);
    wmma::load_matrix_sync(fb, b, ldb);
    wmma::load_matrix_sync(fc, c, ldc, wmma::%(lc)s);
    for (int i = 0; i < fa.num_elements; i++) fa.x[i] = fa.x[i] + fa.x[i];
    for (int i = 0; i < fc.num_elements; i++) fc.x[i] = -fc.x[i];
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(d, fc, ldc, wmma::%(ld)s);
}"""
STAGE = """__shared__ __align__(32) unsigned char staged[4096];
    for (int i = threadIdx.x; i < 4096; i += 32) if (i < %d) staged[i] = ((const unsigned char *)a)[i];
    __syncwarp();"""

HALF, BFLOAT = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
TYPES = {
    "half, float": ("half", "half", "float", HALF, np.float32),
    "half, half": ("half", "half", "half", HALF, np.float16),
    "bfloat16": ("__nv_bfloat16", "__nv_bfloat16", "float", BFLOAT, np.float32),
    "signed char": ("signed char", "signed char", "int", np.int8, np.int32),
    "unsigned char": ("unsigned char", "unsigned char", "int", np.uint8, np.int32),
    "tf32": ("float", "wmma::precision::tf32", "float", np.float32, np.float32),
    "double": ("double", "double", "double", np.float64, np.float64),
}
SHAPES = {"tf32": [(16, 16, 8)], "double": [(8, 8, 4)]}
CASES = [
    (kind, shape, row_a, row_b, row_c)
    for kind in TYPES
    for number, shape in enumerate(SHAPES.get(kind, [(16, 16, 16), (32, 8, 16), (8, 32, 16)]))
    for row_a, row_b, row_c in ([(1, 0, 1), (0, 1, 0)] if number else [(1, 0, 1), (0, 1, 0), (1, 1, 0), (0, 0, 1)])
]


@pytest.mark.parametrize(
    ("kind", "shape", "row_a", "row_b", "row_c"), CASES, ids=[f"{c[0]} {c[1]} {c[2:]}" for c in CASES]
)
def test_wmma_multiplies_small_integers_exactly(
    kind: str, shape: tuple[int, int, int], row_a: int, row_b: int, row_c: int
) -> None:
    (m, n, k), (t, f, s, element, total) = shape, TYPES[kind]
    rng = np.random.default_rng(m * n + row_a)
    low = 0 if kind == "unsigned char" else -4
    a, b, c = (rng.integers(low, 5, size) for size in ((m, k), (k, n), (m, n)))
    words = {1: "row_major", 0: "col_major"}
    shared = row_a != row_b
    lda = padded(k if row_a else m, element)
    stage = STAGE % (lda * (m if row_a else k) * np.dtype(element).itemsize) if shared else ""
    source = WMMA % {
        "T": t, "F": f, "S": s, "m": m, "n": n, "k": k, "la": words[row_a], "lb": words[row_b], "stage": stage,
        "lc": ("mem_" + words[row_c]), "ld": "mem_" + words[row_c], "from": f"(const {t} *)staged" if shared else "a",
    }  # fmt: skip
    x, y = laid_out(a, element, row_a), laid_out(b, element, row_b)
    z = laid_out(c, total, row_c)
    d = np.full_like(z, 7)
    launch(source, "multiply", x, y, z, d, x.shape[1], y.shape[1], z.shape[1])
    wanted = laid_out(2 * a @ b - c, total, row_c)
    wanted[:, (n if row_c else m) :] = 7  # the padding is not written
    np.testing.assert_array_equal(d.astype(np.float64), wanted.astype(np.float64))


NARROW = """
#include <mma.h>
using namespace nvcuda;
using namespace nvcuda::wmma::experimental;
extern "C" __global__ void narrow(const void *a, const void *b, int *d, int ld) {
    wmma::fragment<wmma::matrix_a, 8, 8, %(k)d, precision::%(t)s, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, %(k)d, precision::%(t)s, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, %(k)d, int> fc;
    wmma::load_matrix_sync(fa, (%(p)s)a, ld);
    wmma::load_matrix_sync(fb, (%(p)s)b, ld);
    wmma::fill_fragment(fc, 5);
    %(mma)s;
    wmma::store_matrix_sync(d, fc, 8, wmma::mem_row_major);
}"""


@pytest.mark.parametrize(("kind", "bits", "k"), [("s4", 4, 32), ("u4", 4, 32), ("b1", 1, 128)])
def test_wmma_multiplies_four_bit_integers_and_bits(kind: str, bits: int, k: int) -> None:
    rng = np.random.default_rng(k)
    a, b = (rng.integers(0, 1 << bits, (8, 2 * k)) for _ in range(2))  # lines twice as long as what is loaded
    mma = "bmma_sync(fc, fa, fb, fc)" if bits == 1 else "mma_sync(fc, fa, fb, fc)"
    pointer = "const unsigned *" if bits == 1 else "const void *"
    d = np.zeros((8, 8), np.int32)
    launch(
        NARROW % {"k": k, "t": kind, "mma": mma, "p": pointer}, "narrow", *(packed(m, bits) for m in (a, b)), d, 2 * k
    )
    x, y = (np.where(m > 7, m - 16, m) if kind == "s4" else m for m in (a[:, :k], b[:, :k]))
    wanted = (x[:, None] ^ y[None]).sum(2) if bits == 1 else x @ y.T
    np.testing.assert_array_equal(d, wanted + 5)


def packed(matrix: np.ndarray, bits: int) -> np.ndarray:
    """Elements as 32-bit words, the first in the lowest bits."""
    words = matrix.reshape(len(matrix), -1, 32 // bits).astype(np.uint64)
    return (words << (np.arange(32 // bits, dtype=np.uint64) * np.uint64(bits))).sum(2).astype(np.uint32)


def padded(length: int, element: object) -> int:
    """A leading dimension beyond the line's own length, 16 bytes a multiple."""
    return length + 16 // np.dtype(element).itemsize


def laid_out(matrix: np.ndarray, element: object, by_row: int) -> np.ndarray:
    lines = matrix if by_row else matrix.T
    found = np.full((len(lines), padded(lines.shape[1], element)), 99, element)
    found[:, : lines.shape[1]] = lines
    return found


def test_wmma_out_of_bounds_and_misaligned_rows_are_findings() -> None:
    source = WMMA % {
        "T": "half", "F": "half", "S": "float", "m": 16, "n": 16, "k": 16, "la": "row_major", "lb": "col_major",
        "stage": "", "lc": "mem_row_major", "ld": "mem_row_major", "from": "a",
    }  # fmt: skip
    a, c = np.zeros((16, 16), np.float16), np.zeros((16, 16), np.float32)
    line = next(i for i, text in enumerate(source.splitlines(), 1) if "load_matrix_sync(fa" in text)
    for lda, kind in ((24, "out_of_bounds"), (12, "misaligned")):
        with pytest.raises(KernelFault) as caught:
            launch(source, "multiply", a, a.copy(), c, c.copy(), lda, 16, 16)
        assert caught.value.findings[0].kind == kind
        assert caught.value.findings[0].line == line


# -- kernels ----------------------------------------------------------------------------------------------------------
TILED = """
#include <cuda_bf16.h>
__device__ unsigned at(const void *p) { return __cvta_generic_to_shared(p); }
// One warp per 16 x 16 part of a 64 x 64 tile, 16 warps; A row-major, B row-major and transposed by ldmatrix.
extern "C" __global__ void tiled(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c, int n) {
    __shared__ __align__(16) __nv_bfloat16 sa[64][24], sb[16][72];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = warp / 4 * 16, column = warp % 4 * 16;
    int top = blockIdx.y * 64, left = blockIdx.x * 64;
    float d[2][4] = {};
    for (int k = 0; k < n; k += 16) {
        for (int i = threadIdx.x; i < 64 * 16; i += blockDim.x) {
            sa[i / 16][i % 16] = a[(top + i / 16) * n + k + i % 16];
            sb[i / 64][i % 64] = b[(k + i / 64) * n + left + i % 64];
        }
        __syncthreads();
        unsigned x[4], y[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
            : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at(&sa[row + lane % 16][lane / 16 * 8])));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
            : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3]) : "r"(at(&sb[lane % 16][column + lane / 16 * 8])));
        for (int j = 0; j < 2; j++)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
                : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[2 * j]), "r"(y[2 * j + 1]));
        __syncthreads();
    }
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 4; i++)
            c[(top + row + lane / 4 + i / 2 * 8) * n + left + column + j * 8 + lane % 4 * 2 + i % 2] = d[j][i];
}"""


def test_a_tiled_bf16_matmul_with_ldmatrix_and_mma() -> None:
    n = 128
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((n, n)).astype(BFLOAT) for _ in range(2))
    c = np.zeros((n, n), np.float32)
    launch(TILED, "tiled", a, b, c, n, threads=512, grid=(n // 64, n // 64))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    # Each of the n / 16 steps cuts 17 terms after 25 digits behind the largest one's point, and its sum to 24 digits.
    size = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    assert np.all(np.abs(c - exact) <= n / 16 * (17 * 2.0**-24 + 2.0**-23) * size)
    assert np.abs(c - exact).max() > 0


@pytest.mark.parametrize("left_out", [None, 0, 1])
def test_ldmatrix_takes_part_in_the_search_for_races(left_out: int | None) -> None:
    parts = TILED.split("__syncthreads();")
    assert len(parts) == 3
    source = "__syncthreads();".join(parts)
    if left_out is not None:
        source = parts[0] + ("" if left_out == 0 else "__syncthreads();") + parts[1]
        source += ("__syncthreads();" if left_out == 0 else "") + parts[2]
    a = np.ones((64, 64), BFLOAT)
    with gs.use("virtual"):
        run = gs.cuda(source)["tiled"].observe((1, 1), 512)(a, a, np.zeros((64, 64), np.float32), 64)
    assert {f.kind for f in run.findings} == (set() if left_out is None else {"race"})


WMMA_RACE = """
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void both(const half *a, float *c) {
    __shared__ __align__(32) half tile[256];
    __shared__ __align__(32) float sums[256];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    for (int i = threadIdx.x; i < 256; i += 64) tile[i] = a[i];
    %s
    wmma::load_matrix_sync(fa, tile, 16);
    wmma::load_matrix_sync(fb, tile, 16);
    wmma::fill_fragment(fc, 0.0f);
    wmma::mma_sync(fc, fa, fb, fc);
    if (threadIdx.x < 32) wmma::store_matrix_sync(sums, fc, 16, wmma::mem_row_major);
    %s
    for (int i = threadIdx.x; i < 256; i += 64) c[i] = sums[i];
}"""


@pytest.mark.parametrize(
    ("first", "second"), [("__syncthreads();",) * 2, ("__syncthreads();", ""), ("", "__syncthreads();")]
)
def test_wmma_takes_part_in_the_search_for_races(first: str, second: str) -> None:
    source = WMMA_RACE % (first, second)
    a, c = np.ones(256, np.float16), np.zeros(256, np.float32)
    with gs.use("virtual"):
        run = gs.cuda(source)["both"].observe(1, 64)(a, c)
    lines = source.splitlines()
    found = {lines[x.line - 1] for f in run.findings for x in (f, f.other) if x and x.line and f.kind == "race"}
    assert any("load_matrix_sync" in line for line in found) == (not first)
    assert any("store_matrix_sync" in line for line in found) == (not second)
    if first and second:
        np.testing.assert_array_equal(c, 16)


def test_shared_memory_conflicts_of_ldmatrix_are_counted() -> None:
    source = """
extern "C" __global__ void rows(unsigned *out, int pitch) {
    extern __shared__ __align__(16) unsigned tile[];
    unsigned at = __cvta_generic_to_shared(tile) + pitch * threadIdx.x, r[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
    out[threadIdx.x] = r[0] + r[1] + r[2] + r[3];
}"""
    with gs.use("virtual"):
        kernel = gs.cuda(source)["rows"]
        for pitch, wavefronts in ((16, 4), (32, 8), (128, 32), (144, 4)):
            run = kernel.observe(1, LANES, shared=32 * pitch)(np.zeros(LANES, np.uint32), pitch)
            assert run.counters.shared_wavefronts == wavefronts
