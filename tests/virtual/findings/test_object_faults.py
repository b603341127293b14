"""What goes wrong with texture and surface objects is a finding in words, and never a read of the process's memory."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.protocol import ImageLayout, TextureSampling
from gridstride.virtual.machine.memory.images import VirtualImage

SOURCE = """
extern "C" {
__global__ void read(cudaTextureObject_t t, float* out) {
    out[threadIdx.x] = tex2D<float>(t, threadIdx.x + 0.5f, 0.5f);
}
__global__ void fetch(cudaTextureObject_t t, float* out) { out[threadIdx.x] = tex1Dfetch<float>(t, threadIdx.x); }
__global__ void write(cudaSurfaceObject_t s, int step, int y) {
    surf2Dwrite(1.0f, s, threadIdx.x * step, y);
}
__global__ void deep(cudaSurfaceObject_t s, int z) { surf3Dwrite((short)1, s, 0, 0, z); }
__global__ void few(cudaTextureObject_t t, cudaTextureObject_t other, float* out) {
    if (threadIdx.x < 4) out[threadIdx.x] = tex2D<float>(t, threadIdx.x + 0.5f, 0.5f);
    else if (threadIdx.x == 77) out[0] = tex2D<float>(other, 0, 0);
}
}
"""
BUILDS = pytest.mark.parametrize("sanitize", [False, True], ids=["fast", "observed"])


@pytest.fixture
def module(gpu: gs.VirtualGPU) -> gs.Module:
    return gs.cuda(SOURCE)


def fault(module: gs.Module, kernel: str, *args: object) -> gs.KernelFault:
    with pytest.raises(gs.KernelFault) as caught:
        module[kernel][(2, 1), 32](*args)
    return caught.value


@BUILDS
@pytest.mark.parametrize("handle", [0, 1, 12345, 0x7478_0000_0001_0005, (1 << 64) - 1, 0x7478_0000_0001_FFFF])
def test_a_number_that_is_no_object(gpu: gs.VirtualGPU, module: gs.Module, handle: int, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    found = fault(module, "read", handle, np.zeros(32, np.float32))
    assert (found.kind, found.line, found.thread) == ("texture", 4, (0, 0, 0))
    assert f"{handle:#x} is no texture object" in str(found)


@BUILDS
def test_an_object_that_is_gone(gpu: gs.VirtualGPU, module: gs.Module, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    handle = gs.texture(np.zeros((4, 4), np.float32)).handle  # nothing holds the texture
    assert "was destroyed" in str(fault(module, "read", handle, np.zeros(32, np.float32)))
    again = gs.texture(np.zeros((4, 4), np.float32))
    assert again.handle != handle
    assert "was destroyed" in str(fault(module, "read", handle, np.zeros(32, np.float32)))


@BUILDS
def test_an_object_whose_texels_were_freed(gpu: gs.VirtualGPU, module: gs.Module, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    address = gpu.allocate(64)
    image = VirtualImage(gpu, ImageLayout("float32", 1, 4, 4), address)
    handle = image.texture(TextureSampling())
    gpu.free(address)
    assert "the memory of the texture object" in str(fault(module, "read", handle, np.zeros(32, np.float32)))
    image.destroy_texture(handle)  # which may come later
    assert handle not in gpu.objects.without_memory


def test_the_other_kind_of_object(module: gs.Module) -> None:
    surface, texture = gs.surface((4, 4)), gs.texture(np.zeros((4, 4), np.float32))
    assert "a surface object where a texture object" in str(fault(module, "read", surface.handle, None))
    assert "a texture object where a surface object" in str(fault(module, "write", texture.handle, 4, 0))


def test_another_shape(module: gs.Module) -> None:
    volume = gs.texture(np.zeros((4, 4, 4), np.float32))
    found = fault(module, "read", volume, np.zeros(32, np.float32))
    assert "`tex.2d.v4.f32.f32` is for two dimensions, this texture is three dimensions" in str(found)
    row = gs.texture(np.zeros(40, np.float32))
    assert "tex1Dfetch reads a device array" in str(fault(module, "fetch", row, np.zeros(32, np.float32)))
    layered = gs.surface((2, 4, 4), layered=True)
    assert "two dimensions in layers" in str(fault(module, "write", layered, 4, 0))


@BUILDS
def test_a_write_past_the_edge_traps(gpu: gs.VirtualGPU, module: gs.Module, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    found = fault(module, "write", gs.surface((3, 20)), 4, 0)
    assert (found.kind, found.line, found.thread) == ("surface", 8, (20, 0, 0))
    assert "write at x = 80 bytes, y = 0, outside of the surface (20 texels of 4 bytes, 3 rows)" in str(found)
    assert "y = -1" in str(fault(module, "write", gs.surface((3, 32)), 4, -1))
    deep = fault(module, "deep", gs.surface((2, 4, 4), np.int16), 2)
    assert "z = 2, outside of the surface (4 texels of 2 bytes, 4 rows, 2 deep)" in str(deep)


def test_a_formatted_write_of_other_channels(gpu: gs.VirtualGPU) -> None:
    module = gs.cuda("""extern "C" __global__ void k(cudaSurfaceObject_t s) {
        asm volatile("sust.p.2d.v2.b32.trap [%0, {%1, %1}], {%1, %1};" :: "l"(s), "r"(0)); }""")
    assert "`sust.p` of 2 channels, and this surface has 4" in str(
        fault(module, "k", gs.surface((2, 2, 4), np.uint8, channels=4))
    )


def test_x_that_was_not_multiplied(module: gs.Module) -> None:
    found = fault(module, "write", gs.surface((3, 32)), 1, 0)
    assert found.thread == (1, 0, 0)
    assert "x = 1 bytes for 4 bytes at once: x of a surface access counts bytes" in str(found)


@BUILDS
def test_lanes_that_do_not_read_are_not_looked_at(gpu: gs.VirtualGPU, module: gs.Module, sanitize: bool) -> None:
    gpu.sanitize = sanitize
    x, out = np.arange(4, dtype=np.float32)[None], np.zeros(32, np.float32)
    module["few"][1, 32](gs.texture(x), 999, out)
    assert out[:4].tolist() == [0, 1, 2, 3]


def test_texture_instructions_are_counted(module: gs.Module) -> None:
    out = np.zeros(32, np.float32)
    run = module["read"].observe(2, 32)(gs.texture(np.zeros((4, 4), np.float32)), out)
    assert run.findings == ()
    assert run.counters.kinds["texture"] == 2


def test_texture_references_are_refused(gpu: gs.VirtualGPU) -> None:
    module = gs.ptx(""".version 7.0
    .target sm_75
    .address_size 64
    .global .texref image;
    .visible .entry k() {
        .reg .f32 %f<6>;
        tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [image, {%f5, %f5}];
        ret;
    }""")
    with pytest.raises(gs.UnsupportedInstruction, match=r"references \(.texref, .surfref\): make objects"):
        module["k"][1, 1]()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tex.2dms.v4.f32.s32 {%f1,%f2,%f3,%f4}, [%rd1, {%r1,%r1,%r1,%r1}];", "2dms.*several samples"),
        ("tld4.r.cube.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2,%f3}];", "cube.*gather of another shape"),
        ("sured.p.add.2d.b32.trap [%rd1, {%r1,%r1}], %r1;", "formatted reduction"),
        ("txq.channel_order.b32 %r1, [%rd1];", "channel_order.*width, height and depth"),
        ("txq.level.width.b32 %r1, [%rd1], 1;", "level.*width, height and depth"),
        ("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2}], {%r1,%r1};", "offsets"),
        ("tex.level.1d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [%rd1, {%r1}], %r1;", "levels of whole coordinates"),
    ],
)
def test_what_is_not_there_is_refused(gpu: gs.VirtualGPU, text: str, why: str) -> None:
    module = gs.ptx(f""".version 7.0
    .target sm_75
    .address_size 64
    .visible .entry k(.param .u64 t) {{
        .reg .f32 %f<6>; .reg .b32 %r<4>; .reg .b64 %rd<2>;
        ld.param.u64 %rd1, [t];
        {text}
        ret;
    }}""")
    with pytest.raises(gs.UnsupportedInstruction, match=why):
        module["k"][1, 1](0)
