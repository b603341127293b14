"""Kernels that write through surface objects, on the virtual GPU and on a physical one."""

from __future__ import annotations

import numpy as np
import pytest
from machines import BOTH, opened

import gridstride as gs

SOURCE = """
#define XY int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y
extern "C" {
__global__ void image(cudaSurfaceObject_t s, int w, int h) {
    XY; if (x < w && y < h) surf2Dwrite(make_uchar4(x, y, x + y, 255), s, x * sizeof(uchar4), y);
}
__global__ void life(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int w, int h) {
    XY; if (x >= w || y >= h) return;
    int alive = 0;
    for (int j = -1; j <= 1; ++j) for (int i = -1; i <= 1; ++i)
        if (i || j) alive += surf2Dread<unsigned char>(from, x + i, y + j, cudaBoundaryModeZero);
    unsigned char now = surf2Dread<unsigned char>(from, x, y);
    surf2Dwrite((unsigned char)(alive == 3 || (now && alive == 2)), to, x, y);
}
__global__ void invert(cudaTextureObject_t t, cudaSurfaceObject_t s, int w, int h) {
    XY; if (x < w && y < h) surf2Dwrite(-tex2D<float>(t, x + 0.5f, y + 0.5f), s, x * 4, y);
}
__global__ void around(cudaSurfaceObject_t s, int4* clamped, int4* zeroed) {
    int x = threadIdx.x % 9 - 2, y = threadIdx.x / 9 - 2, i = threadIdx.x;
    short2 c = surf2Dread<short2>(s, x * 4, y, cudaBoundaryModeClamp);
    short2 z = surf2Dread<short2>(s, x * 4, y, cudaBoundaryModeZero);
    clamped[i] = make_int4(c.x, c.y, 0, 0); zeroed[i] = make_int4(z.x, z.y, 0, 0);
}
__global__ void scatter(cudaSurfaceObject_t s) {
    int x = threadIdx.x % 9 - 2, y = threadIdx.x / 9 - 2;
    surf2Dwrite((float)threadIdx.x + 1, s, x * 4, y, cudaBoundaryModeZero);
}
__global__ void deep(cudaSurfaceObject_t volume, cudaSurfaceObject_t images, cudaSurfaceObject_t rows,
                     cudaSurfaceObject_t row, cudaSurfaceObject_t cube) {
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    surf3Dwrite(surf3Dread<long long>(volume, x * 8, y, z) + 1, volume, x * 8, y, z);
    surf2DLayeredwrite((short)(100 * z + 10 * y + x), images, x * 2, y, z);
    surfCubemapwrite((float)(100 * z + 10 * y + x), cube, x * 4, y, z);
    if (z) return;
    surf1DLayeredwrite(make_float2(x, y), rows, x * 8, y);
    if (!y) surf1Dwrite(make_int4(x, x + 1, x + 2, x + 3), row, x * 16);
}
__global__ void reduce(cudaSurfaceObject_t sum, cudaSurfaceObject_t most, cudaSurfaceObject_t least, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
    asm volatile("sured.b.add.2d.u32.trap [%0, {%1, %2}], %3;" :: "l"(sum), "r"(i % 4 * 4), "r"(i / 4 % 2), "r"(i));
    asm volatile("sured.b.max.1d.s32.clamp [%0, {%1}], %2;" :: "l"(most), "r"(i * 4), "r"(i - 50));
    asm volatile("sured.b.min.1d.u32.zero [%0, {%1}], %2;" :: "l"(least), "r"(i * 4), "r"(i - 50));
}
__global__ void put(cudaSurfaceObject_t s, const int4* values, int n) {
    for (int i = 0; i < n; ++i) {
        int4 v = values[i];
        asm volatile("sust.p.2d.v4.b32.zero [%0, {%1, %2}], {%3, %4, %5, %6};"
            :: "l"(s), "r"(i % 8 - 1), "r"(i / 8), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w));
    }
}
__global__ void sizes(cudaSurfaceObject_t s, unsigned* out) {
    asm("suq.width.b32 %0, [%1];" : "=r"(out[0]) : "l"(s)); asm("suq.height.b32 %0, [%1];" : "=r"(out[1]) : "l"(s));
    asm("suq.depth.b32 %0, [%1];" : "=r"(out[2]) : "l"(s));
}
}
"""


@pytest.fixture(scope="module", params=BOTH)
def module(request: pytest.FixtureRequest):
    for _ in opened(request.param):
        yield gs.cuda(SOURCE)


def test_an_image_is_written(module: gs.Module) -> None:
    surface = gs.surface((20, 33, 4), np.uint8, channels=4)
    module["image"][(3, 2), (16, 16)](surface, 33, 20)
    y, x = np.mgrid[:20, :33]
    assert (surface.numpy() == np.stack([x, y, x + y, 0 * x + 255], -1)).all()


def test_a_glider_in_the_game_of_life(module: gs.Module) -> None:
    start = np.zeros((12, 17), np.uint8)
    start[1:4, 1:4] = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
    now, then = gs.surface(start), gs.surface(np.zeros_like(start))
    for _ in range(16):
        module["life"][(2, 1), (16, 16)](now, then, 17, 12)
        now, then = then, now
    assert (now.numpy() == np.roll(start, (4, 4), (0, 1))).all()


def test_a_texture_and_a_surface_share_texels(module: gs.Module) -> None:
    x = np.random.default_rng(0).random((9, 14), np.float32)
    source, target = gs.surface(x), gs.surface((9, 14))
    module["invert"][(1, 1), (16, 16)](gs.texture(source), target, 14, 9)
    assert (target.numpy() == -x).all()
    assert (gs.texture(target, filter="linear").numpy() == -x).all()


def test_reads_outside_clamp_or_give_zeros(module: gs.Module) -> None:
    texels = np.random.default_rng(1).integers(-99, 99, (4, 5, 2)).astype(np.int16)
    clamped, zeroed = np.zeros((72, 4), np.int32), np.zeros((72, 4), np.int32)
    module["around"][1, 72](gs.surface(texels, channels=2), clamped, zeroed)
    y, x = (v.ravel() - 2 for v in np.mgrid[:8, :9])
    inside = (x >= 0) & (x < 5) & (y >= 0) & (y < 4)
    near = texels[np.clip(y, 0, 3), np.clip(x, 0, 4)]
    assert (clamped[:, :2] == near).all()
    assert (zeroed[:, :2] == np.where(inside[:, None], near, 0)).all()


def test_writes_outside_can_be_dropped(module: gs.Module) -> None:
    surface = gs.surface((4, 5))
    module["scatter"][1, 72](surface)
    y, x = np.mgrid[:4, :5] + 2
    assert (surface.numpy() == 9 * y + x + 1).all()


def test_every_dimension(module: gs.Module) -> None:
    volume = gs.surface(np.arange(24, dtype=np.int64).view(np.int32).reshape(2, 3, 4, 2), channels=2)
    images, rows = (
        gs.surface((2, 3, 4), np.int16, layered=True),
        gs.surface((3, 4, 2), np.float32, channels=2, layered=True),
    )
    row, cube = gs.surface((4, 4), np.int32, channels=4), gs.surface((6, 4, 4), cubemap=True)
    module["deep"][1, (4, 3, 2)](volume, images, rows, row, cube)
    z, y, x = np.mgrid[:2, :3, :4]
    assert (volume.numpy().view(np.int64)[..., 0].ravel() == np.arange(24) + 1).all()
    assert (images.numpy() == 100 * z + 10 * y + x).all()
    assert (rows.numpy() == np.stack([x[0], y[0]], -1)).all()
    assert (row.numpy() == np.add.outer(np.arange(4), np.arange(4))).all()
    assert (cube.numpy()[:2, :3] == 100 * z + 10 * y + x).all()


def test_reductions_are_atomic(module: gs.Module) -> None:
    total = gs.surface((2, 4), np.uint32)
    most, least = gs.surface(np.full(8, -100, np.int32)), gs.surface(np.full(8, 7, np.uint32))
    module["reduce"][8, 128](total, most, least, 1000)
    i = np.arange(1000)
    assert (total.numpy().ravel() == [i[i % 8 == n].sum() for n in range(8)]).all()
    assert most.numpy().tolist() == [*range(-50, -43), 949]
    assert least.numpy().tolist() == [7] * 8


def test_a_surface_knows_its_size(module: gs.Module) -> None:
    out = np.zeros(3, np.uint32)
    for surface, size in ((gs.surface((5, 7)), [7, 5, 0]), (gs.surface((3, 5, 7), layered=True), [7, 5, 3]),
                          (gs.surface((6, 4, 4), cubemap=True), [4, 4, 6]), (gs.surface(9), [9, 0, 0])):  # fmt: skip
        module["sizes"][1, 1](surface, out)
        assert out.tolist() == size


WORDS = [0, 1, -1, 127, 128, 255, 256, 300, 32767, 32768, 65535, 65536, -128, -129, -32768, -40000]
FLOATS = [0.5, 1.0, -1.0, 2.0, 1e-3, 65504.0, 70000.0, 1 / 3, 1e-6, -3e-8]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32"])
def test_formatted_writes_convert(module: gs.Module, dtype: str) -> None:
    """Integers stop at their limits, unsigned formats take words as unsigned; halves are cut towards zero."""
    floating = dtype.startswith("float")
    words = np.array(FLOATS, np.float32).view(np.int32) if floating else np.array(WORDS, np.int32)
    values = np.repeat(words[:, None], 4, axis=1) + (0 if floating else [[0, 0, 0, 1]])
    surface = gs.surface((2, 6, 4), dtype, channels=4)
    module["put"][1, 1](surface, values.astype(np.int32), len(values))
    want = np.zeros((2, 6, 4), dtype)
    for i, value in enumerate(values.astype(np.int32)):
        if 1 <= i % 8 <= 6:  # x - 1 is outside elsewhere
            want[i // 8, i % 8 - 1] = converted(value, dtype)
    assert (surface.numpy() == want).all()


def converted(words: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "float32":
        return words.view(np.float32)
    if dtype == "float16":
        exact = words.view(np.float32).astype(np.float64)
        unit = 2.0 ** (np.maximum(np.frexp(exact)[1], -13) - 11)
        return np.clip(np.trunc(exact / unit) * unit, -65504, 65504).astype(np.float16)
    info = np.iinfo(dtype)
    given = words.view(np.uint32) if info.min == 0 else words
    return np.clip(given.astype(np.int64), info.min, info.max).astype(dtype)
