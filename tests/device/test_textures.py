"""What `gs.texture` and `gs.surface` refuse, and what a kernel's parameter refuses to take for one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gridstride as gs

SOURCE = """
extern "C" {
__global__ void k(cudaTextureObject_t t, const cudaSurfaceObject_t s, float* out) {
    out[threadIdx.x] = tex2D<float>(t, threadIdx.x + 0.5f, 0.5f);
}
__global__ void number(unsigned long long t, float* out) {
    out[threadIdx.x] = tex2D<float>((cudaTextureObject_t)t, threadIdx.x + 0.5f, 0.5f);
}
}
"""
IMAGE = np.arange(16, dtype=np.float32).reshape(4, 4)


@pytest.fixture(autouse=True)
def gpu() -> Iterator[gs.VirtualGPU]:
    with gs.use(gs.VirtualGPU(workers=1, memory=64 << 20)) as device:
        yield device


@pytest.mark.parametrize(
    ("array", "how", "why"),
    [
        (np.zeros((4, 4)), {}, "dtype float64: the hardware has uint8, int8"),
        (np.zeros((4, 4), bool), {}, "dtype bool"),
        (np.zeros((4, 4, 3), np.uint8), {"channels": 3}, "channels=3: the hardware has 1, 2 or 4"),
        (IMAGE, {"channels": 2}, "the last axis must have that many"),
        (np.zeros((2, 2, 2, 2), np.float32), {}, "1 to 3 dimensions"),
        (np.zeros((2, 2, 2, 2), np.float32), {"layered": True}, "1 or 2 dimensions behind the layers"),
        (np.zeros((), np.float32), {}, "1 to 3 dimensions"),
        (np.zeros((0, 4), np.float32), {}, "a dimension of 0 texels"),
        (np.zeros((1, 131073), np.uint8), {}, "1 to 131072 are possible"),
        (np.zeros((6, 4, 5), np.float32), {"cubemap": True}, r"it must be \(6, n, n\)"),
        (np.zeros((6, 4, 4), np.float32), {"cubemap": True, "layered": True}, r"it must be \(layers, 6, n, n\)"),
        (IMAGE.astype(np.uint8), {"filter": "linear"}, "integers are filtered as floats only"),
        (IMAGE.astype(np.int32), {"read": "normalized_float"}, "only 8- and 16-bit integers become floats"),
        (IMAGE, {"srgb": True}, "srgb=True is for uint8"),
        (IMAGE, {"address": "repeat"}, "address='repeat': it is 'clamp', 'wrap', 'mirror', 'border'"),
        (IMAGE, {"filter": "cubic"}, "filter='cubic'"),
        (IMAGE, {"read": "float"}, "read='float'"),
        (IMAGE, {"border": (1, 2)}, "one number, or four"),
        (IMAGE, {"mipmaps": [IMAGE[:2, :2]]}, "mipmaps need normalized=True"),
        (IMAGE, {"mipmaps": [IMAGE], "normalized": True}, r"level 1 is float32\[4, 4\], it must be float32\[2, 2\]"),
        (IMAGE, {"mipmaps": [IMAGE[:2, :2], IMAGE[:1, :1], IMAGE[:1, :1]], "normalized": True}, "has 3"),
        (IMAGE, {"lod_range": (2, 1)}, "lod_range"),
        (IMAGE, {"lod_bias": 99}, "lod_bias"),
    ],
)  # fmt: skip
def test_what_no_texture_can_be(array: np.ndarray, how: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        gs.texture(array, **how)


@pytest.mark.parametrize(
    ("shape", "how", "why"),
    [
        ((4, 5), {}, "rows of 20 bytes: in place they must be a multiple of 32"),
        ((2, 4, 8), {}, "in one or two dimensions"),
        ((64,), {"filter": "linear"}, "tex1Dfetch"),
        ((64,), {"address": "border"}, "tex1Dfetch"),
        ((4, 8), {"layered": True}, "lie in CUDA arrays"),
        ((0,), {}, "0 texels"),
    ],
)
def test_what_linear_memory_cannot_be(shape: tuple[int, ...], how: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        gs.texture(gs.empty(shape), **how)


def test_what_no_surface_can_be() -> None:
    with pytest.raises(ValueError, match="dtype float64"):
        gs.surface((4, 4), np.float64)
    with pytest.raises(ValueError, match="dtype=uint8 given with an array of float32"):
        gs.surface(IMAGE, np.uint8)
    with pytest.raises(ValueError, match="1 to 32768 are possible"):
        gs.surface(40000)


@pytest.mark.parametrize("wrong", [IMAGE, 1.5, None, "texture", -1, 1 << 64])
def test_a_texture_parameter_takes_textures(wrong: object) -> None:
    out, surface = np.zeros(4, np.float32), gs.surface((4, 4))
    with pytest.raises(gs.LaunchError, match=r"k: t is cudaTextureObject_t, a \w+ was given: pass gs.texture"):
        gs.cuda(SOURCE)["k"][1, 4](wrong, surface, out)


def test_the_two_kinds_are_told_apart() -> None:
    kernel, out = gs.cuda(SOURCE)["k"], np.zeros(4, np.float32)
    texture, surface = gs.texture(IMAGE), gs.surface((4, 4))
    with pytest.raises(gs.LaunchError, match="k: t is cudaTextureObject_t, a Surface was given"):
        kernel[1, 4](surface, surface, out)
    with pytest.raises(gs.LaunchError, match="k: s is const cudaSurfaceObject_t, a Texture was given"):
        kernel[1, 4](texture, texture, out)
    with pytest.raises(gs.LaunchError, match="out is float"):
        kernel[1, 4](texture, surface, texture)
    kernel[1, 4](texture, surface, out)
    assert out.tolist() == [0, 1, 2, 3]


def test_another_device_and_a_closed_object() -> None:
    kernel, out = gs.cuda(SOURCE)["k"], np.zeros(4, np.float32)
    surface, texture = gs.surface((4, 4)), gs.texture(IMAGE)
    elsewhere = gs.texture(IMAGE, device=gs.VirtualGPU(workers=1, memory=64 << 20))
    with pytest.raises(gs.LaunchError, match="t is on another virtual h200"):
        kernel[1, 4](elsewhere, surface, out)
    texture.close()
    texture.close()
    with pytest.raises(gs.LaunchError, match="this texture object was closed"):
        kernel[1, 4](texture, surface, out)


def test_a_handle_is_a_number_where_no_type_is_known() -> None:
    out, texture = np.zeros(4, np.float32), gs.texture(IMAGE)
    module = gs.cuda(SOURCE)
    module["number"][1, 4](texture.handle, out)
    assert out.tolist() == [0, 1, 2, 3]
    gs.ptx(module.ptx)["number"][1, 4](texture, out * 0)


def test_memory_comes_back(gpu: gs.VirtualGPU) -> None:
    used = gpu.arena.used
    texture = gs.texture(np.zeros((64, 64), np.float32))
    assert gpu.arena.used == used + 64 * 64 * 4
    surface = gs.surface((8, 8))
    shared = gs.texture(surface)
    del texture, surface
    assert gpu.arena.used == used + 256
    del shared
    assert gpu.arena.used == used


def test_many_objects_come_and_go() -> None:
    handles = {gs.texture(IMAGE).handle for _ in range(300)}
    assert len(handles) == 300


@pytest.mark.parametrize("mode", ["wrap", "mirror"])
def test_what_goes_round_clamps_where_coordinates_count_texels(mode: str) -> None:
    """As CUDA does it: without normalizedCoords these modes are switched to clamp."""
    texture = gs.texture(IMAGE, address=(mode, "border"))
    assert texture.sampling.address[:2] == ("clamp", "border")
    out = np.zeros(8, np.float32)
    gs.cuda(SOURCE)["k"][1, 8](texture, gs.surface(IMAGE), out)
    np.testing.assert_array_equal(out, IMAGE[0, [0, 1, 2, 3, 3, 3, 3, 3]])
    assert gs.texture(IMAGE, address=mode, normalized=True).sampling.address[:2] == (mode, mode)
