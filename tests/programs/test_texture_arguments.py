"""Arrays and texture objects that hardware refuses: what NVIDIA's documentation says of their arguments."""

from __future__ import annotations

import pytest

from .program_output import CHECK, Run, lines

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first link builds zig's C++ library

FINE, INVALID = "cudaSuccess", "cudaErrorInvalidValue"


def test_arrays_are_within_the_limits_of_the_devices_properties(program: Run) -> None:
    text = r"""
static cudaChannelFormatDesc byte = cudaCreateChannelDesc<unsigned char>();
static cudaError_t made(size_t width, size_t height, size_t depth, unsigned flags = 0) {
  cudaArray_t array; cudaError_t error = cudaMalloc3DArray(&array, &byte, {width, height, depth}, flags);
  return error != cudaSuccess ? error : cudaFreeArray(array);
}
int main() {
  cudaDeviceProp p; cudaGetDeviceProperties(&p, 0);
  size_t line = p.maxTexture1D, plane = p.maxTexture2D[0], space = p.maxTexture3D[0], layers = p.maxTexture2DLayered[2];
  NAME(made(line, 0, 0)); NAME(made(line + 1, 0, 0));
  NAME(made(plane, 1, 0)); NAME(made(plane + 1, 1, 0)); NAME(made(1, p.maxTexture2D[1] + 1, 0));
  NAME(made(space, 1, 1)); NAME(made(space + 1, 1, 1));
  NAME(made(1, 1, p.maxTexture3DAlt[2])); NAME(made(1, 1, 1 << 20));
  NAME(made(2, 2, layers, cudaArrayLayered)); NAME(made(2, 2, layers + 1, cudaArrayLayered));
  NAME(made(2, 0, layers + 1, cudaArrayLayered));
  NAME(made(p.maxSurface1D + 1, 0, 0, cudaArraySurfaceLoadStore));
  NAME(made(p.maxTexture2DGather[0] + 1, 1, 0, cudaArrayTextureGather));
  NAME(made(p.maxTextureCubemap + 1, p.maxTextureCubemap + 1, 6, cudaArrayCubemap));
  cudaMipmappedArray_t levels; cudaExtent extent = {(size_t)p.maxTexture2DMipmap[0] + 1, 1, 0};
  NAME(cudaMallocMipmappedArray(&levels, &byte, extent, 2));
}
"""
    assert lines(program(CHECK + text)) == [
        FINE, INVALID, FINE, INVALID, INVALID, FINE, INVALID, FINE, INVALID, FINE, INVALID, *[INVALID] * 5
    ]  # fmt: skip


def test_memory_of_a_texture_is_aligned_and_its_texels_are_of_one_two_or_four_channels(program: Run) -> None:
    text = r"""
static cudaError_t made(const cudaResourceDesc &resource) {
  cudaTextureObject_t t; cudaTextureDesc plain = {};
  cudaError_t error = cudaCreateTextureObject(&t, &resource, &plain, 0);
  return error != cudaSuccess ? error : cudaDestroyTextureObject(t);
}
int main() {
  cudaDeviceProp p; cudaGetDeviceProperties(&p, 0);
  char *memory; cudaMalloc(&memory, 1 << 16);
  cudaResourceDesc line = {}; line.resType = cudaResourceTypeLinear;
  line.res.linear.desc = cudaCreateChannelDesc<float>();
  line.res.linear.devPtr = memory; line.res.linear.sizeInBytes = 64; NAME(made(line));
  line.res.linear.devPtr = memory + p.textureAlignment; NAME(made(line));
  line.res.linear.devPtr = memory + p.textureAlignment / 2; NAME(made(line));
  line.res.linear.devPtr = memory;
  line.res.linear.desc = cudaCreateChannelDesc(32, 32, 32, 0, cudaChannelFormatKindFloat); NAME(made(line));
  cudaResourceDesc plane = {}; plane.resType = cudaResourceTypePitch2D;
  plane.res.pitch2D = {memory, cudaCreateChannelDesc<float>(), 8, 4, 2 * p.texturePitchAlignment}; NAME(made(plane));
  plane.res.pitch2D.pitchInBytes += 8; NAME(made(plane));
  plane.res.pitch2D =
    {memory + 32, cudaCreateChannelDesc<float>(), 8, 4, 2 * p.texturePitchAlignment}; NAME(made(plane));
}
"""
    assert lines(program(CHECK + text)) == [
        FINE, FINE, INVALID, "cudaErrorInvalidChannelDescriptor", FINE, INVALID, INVALID
    ]  # fmt: skip


def test_only_what_is_read_as_floats_is_filtered(program: Run) -> None:
    text = r"""
template <typename T> static cudaError_t made(cudaTextureReadMode mode) {
  cudaArray_t array; cudaChannelFormatDesc format = cudaCreateChannelDesc<T>(); cudaMallocArray(&array, &format, 8, 8);
  cudaResourceDesc resource = {}; resource.resType = cudaResourceTypeArray; resource.res.array.array = array;
  cudaTextureDesc linear = {}; linear.filterMode = cudaFilterModeLinear; linear.readMode = mode;
  cudaTextureObject_t t; return cudaCreateTextureObject(&t, &resource, &linear, nullptr);
}
int main() {
  NAME(made<unsigned char>(cudaReadModeElementType)); NAME(made<unsigned char>(cudaReadModeNormalizedFloat));
  NAME(made<int>(cudaReadModeElementType)); NAME(made<int>(cudaReadModeNormalizedFloat));
  NAME(made<float>(cudaReadModeElementType));
}
"""
    refused = "cudaErrorInvalidFilterSetting"
    assert lines(program(CHECK + text)) == [refused, FINE, refused, refused, FINE]
