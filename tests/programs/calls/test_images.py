"""Textures as C describes them, in the words of the virtual GPU."""

from __future__ import annotations

import ctypes
import struct
import subprocess
from collections.abc import Callable

import pytest

from gridstride.programs.calls.images import image_at, sampling_at
from gridstride.protocol import ImageLayout, TextureSampling


def test_an_image_is_read_field_by_field() -> None:
    raw = ctypes.create_string_buffer(struct.pack("<Q11q", 4096, 2, 32, 4, 64, 32, 0, 3, 0, 2, 1, 0))
    layout = ImageLayout("float32", 4, 64, 32, 0, 3, False, 2, True, 0)
    assert image_at(ctypes.addressof(raw)) == (layout, 4096)


def test_sampling_is_read_field_by_field() -> None:
    raw = ctypes.create_string_buffer(
        struct.pack("<8q7d", 0, 1, 3, 1, 1, 0, 1, 0, 0.25, 0.5, 0.75, 1.0, -0.5, 1.0, 2.0)
    )
    assert sampling_at(ctypes.addressof(raw)) == TextureSampling(
        ("wrap", "clamp", "border"), "linear", True, "normalized_float", False, (0.25, 0.5, 0.75, 1.0), "point", -0.5,
        (1.0, 2.0),
    )  # fmt: skip


def test_without_normalised_coordinates_what_goes_round_is_clamped() -> None:
    """As CUDA has it: NVIDIA's convolutionTexture asks for wrap and compares with edges repeated."""
    raw = ctypes.create_string_buffer(struct.pack("<8q7d", 0, 2, 3, 1, 0, 0, 0, 0, *[0.0] * 7))
    assert sampling_at(ctypes.addressof(raw)).address == ("clamp", "clamp", "border")


@pytest.mark.slow
def test_a_linear_texture_longer_than_its_memory_ends_with_it_and_says_so(
    program: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """Hardware makes the object (NVIDIA's convolutionFFT2D relies on it)."""
    done = program(
        """#include <cstdio>
#include <cstring>
__global__ void read(cudaTextureObject_t t, float* y) { y[threadIdx.x] = tex1Dfetch<float>(t, 62 + threadIdx.x); }
int main()
{
    float x[64], *d, y[4];
    for (int i = 0; i < 64; ++i) x[i] = i;
    cudaMalloc(&d, sizeof x);
    cudaMemcpy(d, x, sizeof x, cudaMemcpyHostToDevice);
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeLinear;
    r.res.linear.devPtr = d;
    r.res.linear.sizeInBytes = 80 * sizeof(float);
    r.res.linear.desc = cudaCreateChannelDesc<float>();
    cudaTextureDesc how = {};
    cudaTextureObject_t t;
    if (cudaCreateTextureObject(&t, &r, &how, nullptr)) return 1;
    float* out;
    cudaMalloc(&out, sizeof y);
    read<<<1, 4>>>(t, out);
    cudaMemcpy(y, out, sizeof y, cudaMemcpyDeviceToHost);
    printf("%g %g %g %g\\n", y[0], y[1], y[2], y[3]);
}
"""
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "62 63 0 0\n"
    assert "a texture object is to cover 320 bytes, and its memory has 256 of them" in done.stderr
