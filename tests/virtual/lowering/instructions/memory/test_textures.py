"""Kernels that read through texture objects do what their formulas say, on the virtual GPU and on a physical one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import BOTH, opened
from texture_model import cube_face, sample

import gridstride as gs

SOURCE = """
#define AT(n) int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= (n)) return
#define XY int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y
extern "C" {
__global__ void read1(cudaTextureObject_t t, const float* at, int n, float* out) {
    AT(n); out[i] = tex1D<float>(t, at[3 * i]);
}
__global__ void read2(cudaTextureObject_t t, const float* at, int n, float* out) {
    AT(n); out[i] = tex2D<float>(t, at[3 * i], at[3 * i + 1]);
}
__global__ void read3(cudaTextureObject_t t, const float* at, int n, float* out) {
    AT(n); out[i] = tex3D<float>(t, at[3 * i], at[3 * i + 1], at[3 * i + 2]);
}
__global__ void fetch(cudaTextureObject_t t, const int* at, int n, int4* out) {
    AT(n); out[i] = tex1Dfetch<int4>(t, at[i]);
}
__global__ void rotate(cudaTextureObject_t t, int w, int h, float c, float s, float* out) {
    XY; if (x >= w || y >= h) return;
    float u = x + 0.5f - w / 2, v = y + 0.5f - h / 2;
    out[y * w + x] = tex2D<float>(t, c * u - s * v + w / 2, s * u + c * v + h / 2);
}
__global__ void resize(cudaTextureObject_t t, int w, int h, uchar4* out) {
    XY; if (x >= w || y >= h) return;
    float4 p = tex2D<float4>(t, (x + 0.5f) / w, (y + 0.5f) / h);
    out[y * w + x] = make_uchar4(rintf(255 * p.x), rintf(255 * p.y), rintf(255 * p.z), rintf(255 * p.w));
}
__global__ void blur(cudaTextureObject_t t, int w, int h, int r, float* out) {
    XY; if (x >= w || y >= h) return;
    float sum = 0;
    for (int j = -r; j <= r; ++j) for (int i = -r; i <= r; ++i) sum += tex2D<float>(t, x + i + 0.5f, y + j + 0.5f);
    out[y * w + x] = sum;
}
__global__ void layers(cudaTextureObject_t t, int w, int n, float* out) {
    AT(w * n); out[i] = tex1DLayered<float>(t, i % w + 0.5f, i / w);
}
__global__ void images(cudaTextureObject_t t, int w, int h, int n, float* out) {
    AT(w * h * n); out[i] = tex2DLayered<float>(t, i % w + 0.5f, i / w % h + 0.5f, i / (w * h));
}
__global__ void cube(cudaTextureObject_t t, const float* at, int n, float* out) {
    AT(n); out[i] = texCubemap<float>(t, at[3 * i], at[3 * i + 1], at[3 * i + 2]);
}
__global__ void cubes(cudaTextureObject_t t, const float* at, int n, int layer, float* out) {
    AT(n); out[i] = texCubemapLayered<float>(t, at[3 * i], at[3 * i + 1], at[3 * i + 2], layer);
}
__global__ void gather(cudaTextureObject_t t, int w, int h, float4* out) {
    XY; if (x < w && y < h) out[y * w + x] = tex2Dgather<float4>(t, x + 1, y + 1, 1);
}
__global__ void level(cudaTextureObject_t t, const float* lod, int n, float* out) {
    AT(n); out[i] = tex2DLod<float>(t, 0.5f, 0.5f, lod[i]);
}
__global__ void slope(cudaTextureObject_t t, const float* step, int n, float* out) {
    AT(n); out[i] = tex2DGrad<float>(t, 0.5f, 0.5f, make_float2(step[i], 0), make_float2(0, step[i]));
}
__global__ void sizes(cudaTextureObject_t t, unsigned* out) {
    asm("txq.width.b32 %0, [%1];" : "=r"(out[0]) : "l"(t)); asm("txq.height.b32 %0, [%1];" : "=r"(out[1]) : "l"(t));
    asm("txq.depth.b32 %0, [%1];" : "=r"(out[2]) : "l"(t));
}
__device__ __noinline__ float through(cudaTextureObject_t t, int i) { return tex1Dfetch<float>(t, i); }
__global__ void chosen(const cudaTextureObject_t* of, float* out) {
    out[threadIdx.x] = through(of[threadIdx.x % 2], threadIdx.x);
}
}
"""


@pytest.fixture(scope="module", params=BOTH)
def module(request: pytest.FixtureRequest):
    for _ in opened(request.param):
        yield gs.cuda(SOURCE)


def texels(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def read(module: gs.Module, texture: gs.Texture, at: np.ndarray) -> np.ndarray:
    out = np.zeros(len(at), np.float32)
    rank = len(texture.shape)
    module[f"read{rank}"][-(-len(at) // 64), 64](texture, np.ascontiguousarray(at, np.float32), len(at), out)
    return out


@pytest.mark.parametrize("filter", ["point", "linear"])
@pytest.mark.parametrize("address", ["clamp", "wrap", "mirror", "border"])
@pytest.mark.parametrize("shape", [(9,), (5, 8), (4, 3, 6)], ids=["1d", "2d", "3d"])
def test_every_mode_is_the_models(module: gs.Module, shape: tuple[int, ...], address: str, filter: str) -> None:
    at = np.random.default_rng(0).uniform(-2, 3, (500, 3)).astype(np.float32)
    at[:40] = np.round(at[:40] * 8) / 8
    how = {"address": address, "filter": filter, "normalized": True, "border": 2.5}
    x = texels(*shape)
    assert (read(module, gs.texture(x, **how), at) == sample(x, at, **how)).all()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(width=32, allow_nan=True), min_size=1, max_size=64), st.integers(1, 40), st.booleans())
def test_any_coordinate_is_the_models(values: list[float], size: int, normalized: bool) -> None:
    with gs.use(gs.VirtualGPU(workers=1, memory=64 << 20)):
        at = np.repeat(np.array(values, np.float32)[:, None], 3, axis=1)
        tiny = np.abs(at) < 2.0**-126  # subnormal coordinates are zero
        x = np.arange(1, size + 1, dtype=np.float32)
        address = "wrap" if normalized else "clamp"
        how = {"address": address, "filter": "linear", "normalized": normalized}
        far = (np.abs(at) > 500) if normalized else np.zeros_like(at, bool)
        model = sample(x, np.where(tiny | far, 0, at), **how)
        found = read(gs.cuda(SOURCE), gs.texture(x, **how), np.where(far, 0, at))
        assert (found == model).all()


def test_an_image_rotated(module: gs.Module) -> None:
    x, out = texels(32, 48), np.zeros((32, 48), np.float32)
    c, s = np.float32(0.8), np.float32(0.6)
    module["rotate"][(3, 2), (16, 16)](gs.texture(x, filter="linear", address="border"), 48, 32, c, s, out)
    v, u = np.mgrid[:32, :48] + 0.5
    u, v = u - 24, v - 16
    at = np.stack([c * u - s * v + 24, s * u + c * v + 16, 0 * u], -1).reshape(-1, 3)
    near = sample(x, at, filter="linear", address="border").reshape(32, 48)
    assert np.abs(out - near).max() < 0.02  # the coordinates are rounded, each by 1/256 at most
    module["rotate"][(3, 2), (16, 16)](gs.texture(x), 48, 32, 0.0, 1.0, out)
    assert (out[:, 8:40] == np.rot90(x[:, 8:40])).all()


def test_a_colour_image_halved(module: gs.Module) -> None:
    x = np.random.default_rng(1).integers(0, 256, (16, 24, 4)).astype(np.uint8)
    out = np.zeros((8, 12, 4), np.uint8)
    texture = gs.texture(x, channels=4, filter="linear", read="normalized_float", normalized=True)
    module["resize"][(1, 1), (12, 8)](texture, 12, 8, out)
    mean = x.reshape(8, 2, 12, 2, 4).astype(float).mean((1, 3))
    assert np.abs(out - mean).max() <= 0.76


def test_a_box_blur_with_clamped_edges(module: gs.Module) -> None:
    x = np.random.default_rng(2).integers(0, 100, (20, 30)).astype(np.float32)
    out = np.zeros_like(x)
    module["blur"][(2, 2), (16, 16)](gs.texture(x), 30, 20, 2, out)
    padded = np.pad(x, 2, mode="edge")
    assert (out == sum(padded[j : j + 20, i : i + 30] for j in range(5) for i in range(5))).all()


def test_a_volume_between_its_texels(module: gs.Module) -> None:
    z, y, x = np.mgrid[:6, :7, :8].astype(np.float32)
    at = np.random.default_rng(3).integers(256, 5 * 256, (200, 3)).astype(np.float32) / 256
    found = read(module, gs.texture(1024 * (x + 2 * y + 4 * z), filter="linear"), at)
    assert np.abs(found - 1024 * ((at - 0.5) @ [1, 2, 4])).max() <= 1024 * 7 * 2 / 256


def test_layers_are_not_blended(module: gs.Module) -> None:
    rows, images = texels(3, 10), texels(4, 5, 6)
    out, more = np.zeros_like(rows), np.zeros_like(images)
    module["layers"][1, 32](gs.texture(rows, layered=True, filter="linear"), 10, 3, out)
    module["images"][2, 64](gs.texture(images, layered=True, filter="linear"), 6, 5, 4, more)
    assert (out == rows).all()
    assert (more == images).all()


def test_a_direction_finds_its_face(module: gs.Module) -> None:
    faces = texels(2, 6, 8, 8)
    at = np.random.default_rng(4).standard_normal((300, 3)).astype(np.float32)
    at[:27] = np.stack(np.meshgrid(*[[-1, 0.5, 1]] * 3), -1).reshape(-1, 3)
    found = [cube_face(*map(float, p)) for p in at]
    index = np.array([(f, min(7, int(8 * t)), min(7, int(8 * s))) for f, s, t in found]).T
    out = np.zeros(300, np.float32)
    module["cube"][5, 64](gs.texture(faces[0], cubemap=True), at, 300, out)
    assert (out == faces[0][tuple(index)]).all()
    module["cubes"][5, 64](gs.texture(faces, cubemap=True, layered=True), at, 300, 1, out)
    assert (out == faces[1][tuple(index)]).all()


def test_a_gather_takes_one_channel_of_four_texels(module: gs.Module) -> None:
    x = texels(6, 7, 2)
    out = np.zeros((5, 6, 4), np.float32)
    module["gather"][(1, 1), (8, 8)](gs.texture(x, channels=2), 6, 5, out)
    y = x[..., 1]
    assert (out == np.stack([y[1:, :-1], y[1:, 1:], y[:-1, 1:], y[:-1, :-1]], -1)).all()


def test_levels_are_chosen_and_blended(module: gs.Module) -> None:
    pyramid = [np.full((16 >> n, 16 >> n), n, np.float32) for n in range(5)]
    lod = np.array([-1, 0, 0.25, 0.5, 1.5, 2.75, 3.99, 9], np.float32)
    out = np.zeros(8, np.float32)
    how = {"mipmaps": pyramid[1:], "normalized": True}
    module["level"][1, 8](gs.texture(pyramid[0], mipmap_filter="linear", **how), lod, 8, out)
    assert (out == np.floor(np.clip(lod, 0, 4) * 256) / 256).all()
    module["level"][1, 8](gs.texture(pyramid[0], **how), lod, 8, out)
    assert (out == np.floor(np.clip(lod, 0, 4) + 0.5)).all()
    module["level"][1, 8](gs.texture(pyramid[0], lod_range=(1, 2), lod_bias=0.5, **how), lod, 8, out)
    assert (out == np.floor(np.clip(lod + 0.5, 1, 2) + 0.5)).all()
    steps = (2.0 ** np.arange(8) / 32).astype(np.float32)
    module["slope"][1, 8](gs.texture(pyramid[0], mipmap_filter="linear", **how), steps, 8, out)
    assert (out == np.clip(np.arange(8) - 1, 0, 4)).all()


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "uint32", "int32"])
@pytest.mark.parametrize("channels", [1, 2, 4])
def test_linear_memory_is_read_in_place(module: gs.Module, dtype: str, channels: int) -> None:
    info = np.iinfo(dtype)
    x = np.random.default_rng(5).integers(info.min, info.max + 1, (50, channels), dtype=dtype)
    array = gs.to_device(x if channels > 1 else x[:, 0])
    texture = gs.texture(array, channels=channels)
    at, out = np.arange(-5, 59, dtype=np.int32), np.zeros((64, 4), np.int32)
    module["fetch"][1, 64](texture, at, 64, out)
    assert (out[5:55, :channels] == x.astype(np.int64).astype(np.uint32).view(np.int32)).all()
    assert not out[:5].any()
    assert not out[55:].any()
    array.copy_from(np.ones_like(x if channels > 1 else x[:, 0]))
    module["fetch"][1, 64](texture, at, 64, out)
    assert (out[5:55, :channels] == 1).all()


def test_rows_of_linear_memory(module: gs.Module) -> None:
    x = texels(6, 16)
    at = np.random.default_rng(6).uniform(-1, 17, (300, 3)).astype(np.float32)
    how = {"filter": "linear", "address": "border", "border": 0.5}
    assert (read(module, gs.texture(gs.to_device(x), **how), at) == sample(x, at, **how)).all()


def test_a_texture_knows_its_size_and_gives_its_texels_back(module: gs.Module) -> None:
    x, out = texels(3, 5, 7), np.zeros(3, np.uint32)
    texture = gs.texture(x)
    module["sizes"][1, 1](texture, out)
    assert out.tolist() == [7, 5, 3]
    assert (texture.numpy() == x).all()


def test_handles_in_memory_differ_between_lanes(module: gs.Module) -> None:
    a, b = texels(64), texels(65)[:64]
    held = [gs.texture(gs.to_device(v)) for v in (a, b)]
    out = np.zeros(64, np.float32)
    module["chosen"][1, 64](np.array([t.handle for t in held], np.uint64), out)
    assert (out == np.where(np.arange(64) % 2, b, a)).all()
