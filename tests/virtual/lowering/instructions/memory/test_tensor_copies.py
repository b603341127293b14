"""cp.async.bulk.tensor through tensor maps: boxes of one to five dimensions, edges, swizzles, and both directions."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.abi.tensor_map_layout import TENSOR

BUILDS = pytest.mark.parametrize("sanitize", [False, True], ids=["fast", "observed"])


def source(rank: int, total: int) -> str:
    """A kernel that copies a box in at `corner`, writes out what shared memory holds, and copies the box to `to`."""
    corner = ", ".join(f"%{i + 2}" for i in range(rank))
    given = ", ".join(f'"r"(corner[{i}])' for i in range(rank))
    return f"""
    struct alignas(64) Map {{ char bytes[128]; }};
    __device__ unsigned at(const void *p) {{ return (unsigned)__cvta_generic_to_shared(p); }}
    extern "C" __global__ void k(const __grid_constant__ Map from, const __grid_constant__ Map to, const int *corner,
                                 unsigned char *seen, int store) {{
        __shared__ alignas(1024) unsigned char s[{total}];
        __shared__ unsigned long long bar;
        if (threadIdx.x == 0) {{
            asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(at(&bar)));
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], {total};" :: "r"(at(&bar)) : "memory");
            asm volatile("cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                "[%0], [%1, {{{corner}}}], [%{rank + 2}];"
                :: "r"(at(s)), "l"(&from), {given}, "r"(at(&bar)) : "memory");
        }}
        __syncthreads();
        asm volatile("{{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra L; }}"
            :: "r"(at(&bar)) : "memory");
        for (int i = threadIdx.x; i < {total}; i += blockDim.x) seen[i] = s[i];
        if (store && threadIdx.x == 0) {{
            asm volatile("cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group [%1, {{{corner}}}], [%0];"
                :: "r"(at(s)), "l"(&to), {given} : "memory");
            asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
        }}
    }}"""


def boxed(x: np.ndarray, box: tuple[int, ...], corner: tuple[int, ...], outside: float = 0) -> np.ndarray:
    """The box at a corner (in the array's order), with `outside` where it leaves the array."""
    out = np.full(box, outside, x.dtype)
    for index in np.ndindex(*box):
        where = tuple(c + i for c, i in zip(corner, index, strict=True))
        if all(0 <= w < n for w, n in zip(where, x.shape, strict=True)):
            out[index] = x[where]
    return out


def run(x: np.ndarray, box: tuple[int, ...], corner: tuple[int, ...], **how: object) -> tuple[np.ndarray, np.ndarray]:
    """What shared memory holds as bytes, and a zero array that the box was copied out to."""
    total = int(np.prod(box)) * x.itemsize
    kernel = gs.cuda(source(x.ndim, total))["k"]
    array, target = gs.to_device(x), gs.to_device(np.zeros_like(x))
    maps = [gs.tensor_map(a, box, **how) for a in (array, target)]  # type: ignore[arg-type]
    seen = np.zeros(total, np.uint8)
    kernel[1, 64](*maps, np.array(corner[::-1], np.int32), seen, int(min(corner) >= 0))  # out only from inside
    return seen, target.numpy()


CASES = [
    ((64,), (32,), (16,), np.float32), ((52,), (16,), (40,), np.float32), ((20, 48), (8, 16), (4, 16), np.int16),
    ((20, 48), (8, 16), (-3, 40), np.float16), ((9, 10, 32), (2, 3, 32), (8, -1, -16), np.uint8),
    ((3, 4, 5, 8), (2, 2, 3, 4), (2, 1, 3, 6), np.float64),
    ((2, 3, 4, 3, 4), (1, 2, 2, 2, 4), (1, 2, 3, 2, 0), np.int32),
]  # fmt: skip


@BUILDS
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{len(c[0])}d-{np.dtype(c[3])}")
def test_a_box_goes_in_and_out(
    gpu: gs.VirtualGPU, case: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], type], sanitize: bool
) -> None:
    gpu.sanitize = sanitize
    shape, box, corner, dtype = case
    x = np.random.default_rng(0).integers(1, 100, shape).astype(dtype)
    seen, stored = run(x, box, corner)
    assert (seen.view(dtype).reshape(box) == boxed(x, box, corner)).all()
    inside = tuple(slice(max(0, c), max(0, min(n, c + b))) for c, b, n in zip(corner, box, shape, strict=True))
    want = np.zeros_like(x)
    if min(corner) >= 0:
        want[inside] = x[inside]
    assert (stored == want).all()


@BUILDS
@pytest.mark.parametrize("swizzle", [32, 64, 128])
def test_swizzles_exchange_the_chunks_of_rows(gpu: gs.VirtualGPU, swizzle: int, sanitize: bool) -> None:
    """A pattern's row is `swizzle` bytes; its 16-byte chunk c of row r lies at c ^ (r of the pattern)."""
    gpu.sanitize = sanitize
    columns, per = swizzle // 2, 128 // swizzle
    x = np.arange(1, 32 * columns + 1, dtype=np.uint16).reshape(32, columns)
    seen, stored = run(x, (32, columns), (0, 0), swizzle=swizzle)
    chunks = x.view(np.uint8).reshape(32, -1, 16)
    got = seen.reshape(32, -1, 16)
    for r in range(32):
        turn = r // per % (swizzle // 16)
        for c in range(swizzle // 16):
            assert (got[r, c ^ turn] == chunks[r, c]).all(), (r, c)
    assert (stored == x).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, ml_dtypes.bfloat16])
def test_outside_elements_may_be_nan(gpu: gs.VirtualGPU, dtype: type) -> None:
    x = np.ones((8, 8), dtype)
    seen, _ = run(x, (4, 8), (6, 0), fill="nan")
    values = seen.view(dtype).reshape(4, 8).astype(np.float32)
    assert (values[:2] == 1).all()
    assert np.isnan(values[2:]).all()


def test_a_tiled_transpose_by_tensor_copies(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda("""#include <cuda.h>
    #include <cuda/barrier>
    #include <cuda/ptx>
    namespace ptx = cuda::ptx;
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    extern "C" __global__ void k(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out) {
        __shared__ alignas(128) float a[32][32], b[32][32];
        __shared__ barrier bar;
        if (threadIdx.x == 0) { init(&bar, blockDim.x); ptx::fence_proxy_async(ptx::space_shared); }
        __syncthreads();
        barrier::arrival_token token;
        if (threadIdx.x == 0) {
            const int at[2] = {(int)blockIdx.x * 32, (int)blockIdx.y * 32};
            ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, a, &in, at,
                                      cuda::device::barrier_native_handle(bar));
            token = cuda::device::barrier_arrive_tx(bar, 1, sizeof a);
        } else token = bar.arrive();
        bar.wait(std::move(token));
        for (int i = threadIdx.x; i < 1024; i += blockDim.x) b[i % 32][i / 32] = a[i / 32][i % 32];
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        if (threadIdx.x == 0) {
            const int at[2] = {(int)blockIdx.y * 32, (int)blockIdx.x * 32};
            ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &out, at, b);
            ptx::cp_async_bulk_commit_group();
            ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
        }
    }""")["k"]
    x = np.random.default_rng(0).random((100, 68), np.float32)
    a, b = gs.to_device(x), gs.empty((68, 100))
    kernel[(3, 4), 128](gs.tensor_map(a, (32, 32)), gs.tensor_map(b, (32, 32)))
    assert (b.numpy() == x.T).all()


def test_what_is_no_map_is_a_finding(gpu: gs.VirtualGPU) -> None:
    kernel = gs.cuda(source(2, 512))["k"]
    x = gs.to_device(np.zeros((8, 32), np.float32))
    good = gs.tensor_map(x, (4, 32))
    line = gs.tensor_map(gs.to_device(np.zeros(64, np.float32)), (32,))
    for wrong, message in ((np.zeros(128, np.uint8), "no tensor map"), (line, "2-dimensional box with .* of 1 dim")):
        with pytest.raises(gs.KernelFault, match=message) as fault:
            kernel[1, 32](wrong, good, np.zeros(2, np.int32), np.zeros(512, np.uint8), 0)
        assert fault.value.kind == "tensor_map"


@pytest.mark.parametrize(
    ("shape", "box", "more", "message"),
    [
        ((8, 32), (4, 6), {}, "24 bytes, which must be a multiple of 16"),
        ((8, 30), (4, 8), {}, "120 bytes apart"),
        ((8, 32), (4,), {}, "2 dimensions"),
        ((8, 512), (4, 512), {}, "not 512"),
        ((8, 64), (4, 32), {"swizzle": 64}, "128 bytes, which swizzle=64"),
        ((8, 64), (4, 32), {"swizzle": 16}, "swizzle=16"),
        ((8, 64), (4, 32), {"fill": "ones"}, "fill='ones'"),
    ],
)
def test_maps_that_the_hardware_does_not_take_are_refused(
    gpu: gs.VirtualGPU, shape: tuple[int, ...], box: tuple[int, ...], more: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        gs.tensor_map(gs.empty(shape), box, **more)  # type: ignore[arg-type]


def test_a_kernel_replaces_fields_of_a_map(gpu: gs.VirtualGPU) -> None:
    """A map for one array is turned in shared memory into one for a part of another, copied out, and used."""
    kernel = gs.cuda("""
    struct alignas(128) Map { char bytes[128]; };
    __device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
    extern "C" __global__ void change(const __grid_constant__ Map from, char *map, const float *x, int rows,
                                      int columns, long long pitch) {
        __shared__ Map m;
        ((int *)&m)[threadIdx.x] = ((const int *)&from)[threadIdx.x];
        __syncwarp();
        if (threadIdx.x == 0) {
            #define REPLACE(field, type) "tensormap.replace.tile." field ".shared::cta.b1024." type
            asm volatile(REPLACE("global_address", "b64") " [%0], %1;" :: "r"(at(&m)), "l"(x) : "memory");
            asm volatile(REPLACE("rank", "b32") " [%0], 1;" :: "r"(at(&m)) : "memory");
            asm volatile(REPLACE("global_dim", "b32") " [%0], 0, %1;" :: "r"(at(&m)), "r"(columns) : "memory");
            asm volatile(REPLACE("global_dim", "b32") " [%0], 1, %1;" :: "r"(at(&m)), "r"(rows) : "memory");
            asm volatile(REPLACE("global_stride", "b64") " [%0], 0, %1;" :: "r"(at(&m)), "l"(pitch) : "memory");
            asm volatile(REPLACE("box_dim", "b32") " [%0], 0, %1;" :: "r"(at(&m)), "r"(8) : "memory");
            asm volatile(REPLACE("box_dim", "b32") " [%0], 1, %1;" :: "r"(at(&m)), "r"(4) : "memory");
            asm volatile(REPLACE("element_stride", "b32") " [%0], 0, 1;" :: "r"(at(&m)) : "memory");
            asm volatile(REPLACE("elemtype", "b32") " [%0], 7;" :: "r"(at(&m)) : "memory");
            asm volatile(REPLACE("swizzle_mode", "b32") " [%0], 0;" :: "r"(at(&m)) : "memory");
            asm volatile(REPLACE("fill_mode", "b32") " [%0], 1;" :: "r"(at(&m)) : "memory");
        }
        __syncwarp();
        asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
            "[%0], [%1], 128;" :: "l"(map), "r"(at(&m)) : "memory");
    }
    extern "C" __global__ void use(const char *map, float *y) {
        __shared__ alignas(128) float s[32];
        __shared__ unsigned long long bar;
        if (threadIdx.x == 0) {
            asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" :: "l"(map) : "memory");
            asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(at(&bar)));
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 128;" :: "r"(at(&bar)) : "memory");
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                "[%0], [%1, {%2, %3}], [%4];" :: "r"(at(s)), "l"(map), "r"(4), "r"(1), "r"(at(&bar)) : "memory");
        }
        __syncthreads();
        asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra L; }"
            :: "r"(at(&bar)) : "memory");
        y[threadIdx.x] = s[threadIdx.x];
    }""")
    old = gs.tensor_map(gs.to_device(np.zeros(64, np.float16)), (8,), swizzle=32)
    x, y = np.arange(6 * 16, dtype=np.float32).reshape(6, 16), np.zeros((4, 8), np.float32)
    array, made = gs.to_device(x), gs.to_device(np.zeros(128, np.int8))
    kernel["change"][1, 32](old, made, array, 4, 10, 64)
    kernel["use"][1, 32](made, y)
    want = boxed(x[:4, :10].copy(), (4, 8), (1, 4), float("nan"))
    assert np.array_equal(y, want, equal_nan=True)


def test_a_map_is_of_an_array_on_the_device_and_shows_it() -> None:
    with pytest.raises(TypeError, match=r"not of a ndarray: gs\.to_device\(…\) first"):
        gs.tensor_map(np.zeros((8, 8), np.float32), (8, 8))  # type: ignore[arg-type]
    assert repr(gs.tensor_map(gs.empty(64), 32)) == "TensorMap(DeviceArray(float32[64] on virtual h200))"


PANELS = [
    ((4, 48, 64), (128, 512, 2), (2, 8, 64), (1, 8, 0)),
    ((1, 1, 4, 48, 64), (0, 0, 128, 512, 2), (1, 1, 4, 16, 64), (0, 0, 0, 32, 0)),
    ((48, 4, 64), None, (8, 2, 64), (40, 1, 0)),
]


@BUILDS
@pytest.mark.parametrize(("shape", "strides", "box", "corner"), PANELS, ids=["3d", "5d", "3d_of_rows"])
def test_a_matrix_seen_in_other_dimensions(
    gpu: gs.VirtualGPU, shape: tuple[int, ...], strides: tuple[int, ...] | None, box: tuple[int, ...],
    corner: tuple[int, ...], sanitize: bool,
) -> None:  # fmt: skip
    """Panels of 64 columns, one map for many of them."""
    gpu.sanitize = sanitize
    x = np.arange(48 * 256, dtype=np.uint16).reshape(48, 256)
    seen_as = np.lib.stride_tricks.as_strided(x, shape, strides) if strides else x.reshape(shape)
    total = int(np.prod(box)) * 2
    array, seen = gs.to_device(x), np.zeros(total, np.uint8)
    made = gs.tensor_map(array, box, shape=shape, strides=strides)
    where = np.array(corner[::-1], np.int32)
    gs.cuda(source(len(shape), total))["k"][1, 128](made, made, where, seen, 0)
    np.testing.assert_array_equal(seen.view(np.uint16).reshape(box), boxed(seen_as, box, corner))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"shape": (4, 48, 64), "strides": (128, 512, 4)}, "one for each dimension, in bytes, the last 2"),
        ({"shape": (5, 48, 64), "strides": (128, 512, 2)}, "reaches 24704 bytes, the array has 24576"),
        ({"strides": (512, 2)}, "strides= goes with shape="),
        ({"shape": (49, 4, 64)}, "which do not fit"),
    ],
)
def test_dimensions_that_the_array_does_not_have_are_refused(
    gpu: gs.VirtualGPU, how: dict[str, tuple[int, ...]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        gs.tensor_map(gs.to_device(np.zeros((48, 256), np.uint16)), (1, 8, 64), **how)  # type: ignore[arg-type]


SPOILT = [
    ("box", 0, 0xFFFFFFFF), ("box", 0, 0), ("box", 1, 1025), ("box", 4, 0xFFFFFFFF), ("swizzle", 0, 1),
    ("swizzle", 0, 0x10), ("interleave", 0, 7),
]  # fmt: skip


@pytest.mark.parametrize(("field", "index", "value"), SPOILT, ids=[f"{s[0]}{s[1]}={s[2]}" for s in SPOILT])
def test_a_map_with_fields_that_none_has_is_a_finding(gpu: gs.VirtualGPU, field: str, index: int, value: int) -> None:
    """A kernel may write anything to a map: what it then says of sizes must not be believed."""
    array = gs.to_device(np.zeros((64, 64), np.uint16))
    raw = np.array(gs.tensor_map(array, (8, 64)), np.uint8)
    size = {"i8": 1, "i32": 4}[TENSOR.type[field]]
    place = TENSOR.offset[field] + size * index
    raw[place : place + size] = np.frombuffer(value.to_bytes(size, "little"), np.uint8)
    seen = np.zeros(1024, np.uint8)
    with pytest.raises(gs.KernelFault, match="a field that no map can have") as caught:
        gs.cuda(source(2, 1024))["k"][1, 32](raw, raw, np.zeros(2, np.int32), seen, 0)
    assert caught.value.kind == "tensor_map"
