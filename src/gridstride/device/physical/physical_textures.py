"""CUDA arrays, texture objects and surface objects on the physical GPU, through the driver."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from gridstride.device.physical.driver import bindings
from gridstride.protocol import ImageLayout, TextureSampling

if TYPE_CHECKING:
    import numpy as np

    from gridstride.device.physical.physical_gpu import PhysicalGPU

_FORMATS = {
    "uint8": "UNSIGNED_INT8", "uint16": "UNSIGNED_INT16", "uint32": "UNSIGNED_INT32", "int8": "SIGNED_INT8",
    "int16": "SIGNED_INT16", "int32": "SIGNED_INT32", "float16": "HALF", "float32": "FLOAT",
}  # fmt: skip


class PhysicalImage:
    """Texels in a (mipmapped) CUDA array, or, where `address` is given, in the linear memory there."""

    def __init__(self, device: PhysicalGPU, layout: ImageLayout, address: int = 0) -> None:
        self._device, self.layout, self._address = device, layout, address
        self._array: Any = None
        self._mipmap: Any = None
        if not address:
            with device.current():
                self._allocate()

    def write(self, level: int, host: np.ndarray[Any, Any]) -> None:
        """Fills a level from a C-contiguous array."""
        self._copy(level, host, to_device=True)

    def read(self, level: int, host: np.ndarray[Any, Any]) -> None:
        """Copies a level to a C-contiguous array."""
        self._copy(level, host, to_device=False)

    def texture(self, sampling: TextureSampling) -> int:
        """A new texture object."""
        with self._device.current():
            handle = bindings().cuTexObjectCreate(self._resource(), _texture(self.layout, sampling), None)
            return int(self._device.check(handle, "making a texture object"))

    def surface(self) -> int:
        """A new surface object."""
        with self._device.current():
            return int(self._device.check(bindings().cuSurfObjectCreate(self._resource()), "making a surface object"))

    def destroy_texture(self, handle: int) -> None:
        with self._device.current():
            self._device.check(bindings().cuCtxSynchronize(), "destroying a texture object")
            self._device.check(bindings().cuTexObjectDestroy(handle), "destroying a texture object")

    def destroy_surface(self, handle: int) -> None:
        with self._device.current():
            self._device.check(bindings().cuCtxSynchronize(), "destroying a surface object")
            self._device.check(bindings().cuSurfObjectDestroy(handle), "destroying a surface object")

    def free(self) -> None:
        """Gives the array back; waits for the work that may use it."""
        with self._device.current():
            if self._mipmap is not None:
                self._device.check(bindings().cuMipmappedArrayDestroy(self._mipmap), "freeing a mipmapped array")
            elif self._array is not None:
                self._device.check(bindings().cuArrayDestroy(self._array), "freeing a CUDA array")

    # -- inside -------------------------------------------------------------------------------------------------------
    def _allocate(self) -> None:
        cu, layout = bindings(), self.layout
        description = cu.CUDA_ARRAY3D_DESCRIPTOR()
        description.Width, description.Height, description.Depth = layout.width, layout.height, _depth(layout)
        description.Format, description.NumChannels = _format(layout.dtype), layout.channels
        description.Flags = _array_flags(layout)
        if layout.levels > 1:
            handle = cu.cuMipmappedArrayCreate(description, layout.levels)
            self._mipmap = self._device.check(handle, f"allocating a mipmapped array of {layout}")
        else:
            self._array = self._device.check(cu.cuArray3DCreate(description), f"allocating a CUDA array of {layout}")

    def _level(self, level: int) -> Any:
        if self._mipmap is None:
            return self._array
        return self._device.check(bindings().cuMipmappedArrayGetLevel(self._mipmap, level), "finding a mipmap level")

    def _copy(self, level: int, host: np.ndarray[Any, Any], *, to_device: bool) -> None:
        cu, layout = bindings(), self.layout
        texel = layout.channels * host.dtype.itemsize
        width, height = max(1, layout.width >> level), max(1, layout.height >> level)
        copy = cu.CUDA_MEMCPY3D()
        copy.WidthInBytes, copy.Height = width * texel, height
        copy.Depth = max(1, _depth(layout) if layout.layers or layout.cubemap else layout.depth >> level)
        image_side, host_side = ("dst", "src") if to_device else ("src", "dst")
        setattr(copy, f"{host_side}MemoryType", cu.CUmemorytype.CU_MEMORYTYPE_HOST)
        setattr(copy, f"{host_side}Host", host.ctypes.data)
        setattr(copy, f"{host_side}Pitch", width * texel)
        setattr(copy, f"{host_side}Height", height)
        with self._device.current():
            setattr(copy, f"{image_side}MemoryType", cu.CUmemorytype.CU_MEMORYTYPE_ARRAY)
            setattr(copy, f"{image_side}Array", self._level(level))
            stream = self._device.current_stream()
            self._device.check(cu.cuMemcpy3DAsync(copy, stream), "copying texels")
            self._device.check(cu.cuStreamSynchronize(stream), "copying texels")

    def _resource(self) -> Any:
        cu, layout = bindings(), self.layout
        resource, kinds = cu.CUDA_RESOURCE_DESC(), cu.CUresourcetype
        if self._mipmap is not None:
            resource.resType = kinds.CU_RESOURCE_TYPE_MIPMAPPED_ARRAY
            resource.res.mipmap.hMipmappedArray = self._mipmap
        elif self._array is not None:
            resource.resType = kinds.CU_RESOURCE_TYPE_ARRAY
            resource.res.array.hArray = self._array
        elif layout.height:
            resource.resType, memory = kinds.CU_RESOURCE_TYPE_PITCH2D, resource.res.pitch2D
            memory.devPtr, memory.format, memory.numChannels = self._address, _format(layout.dtype), layout.channels
            memory.width, memory.height, memory.pitchInBytes = layout.width, layout.height, layout.pitch
        else:
            resource.resType, memory = kinds.CU_RESOURCE_TYPE_LINEAR, resource.res.linear
            memory.devPtr, memory.format, memory.numChannels = self._address, _format(layout.dtype), layout.channels
            memory.sizeInBytes = layout.pitch
        return resource


def _format(dtype: str) -> Any:
    return getattr(bindings().CUarray_format, f"CU_AD_FORMAT_{_FORMATS[dtype]}")


def _depth(layout: ImageLayout) -> int:
    if layout.cubemap:
        return 6 * max(1, layout.layers)
    return layout.layers or layout.depth


def _array_flags(layout: ImageLayout) -> int:
    cu = bindings()
    flat = bool(layout.height) and not (layout.depth or layout.layers or layout.cubemap or layout.surface)
    chosen = {
        cu.CUDA_ARRAY3D_LAYERED: bool(layout.layers),
        cu.CUDA_ARRAY3D_CUBEMAP: layout.cubemap,
        cu.CUDA_ARRAY3D_SURFACE_LDST: layout.surface,
        # tex2Dgather is for plain two-dimensional arrays that ask for it and are not too large.
        cu.CUDA_ARRAY3D_TEXTURE_GATHER: flat and layout.levels == 1 and max(layout.width, layout.height) <= 1 << 15,
    }
    return functools.reduce(lambda flags, flag: flags | flag, (flag for flag, on in chosen.items() if on), 0)


def _texture(layout: ImageLayout, sampling: TextureSampling) -> Any:
    cu = bindings()
    description = cu.CUDA_TEXTURE_DESC()
    description.addressMode = [
        getattr(cu.CUaddress_mode, f"CU_TR_ADDRESS_MODE_{mode.upper()}") for mode in sampling.address
    ]
    description.filterMode = _filter(sampling.filter)
    description.mipmapFilterMode = _filter(sampling.mipmap_filter)
    description.borderColor = list(sampling.border)
    description.mipmapLevelBias = sampling.lod_bias
    description.minMipmapLevelClamp, description.maxMipmapLevelClamp = sampling.lod_range
    integers = layout.dtype not in ("float16", "float32") and sampling.read == "element"
    description.flags = (
        cu.CU_TRSF_READ_AS_INTEGER * integers
        | cu.CU_TRSF_NORMALIZED_COORDINATES * sampling.normalized
        | cu.CU_TRSF_SRGB * sampling.srgb
    )
    return description


def _filter(name: str) -> Any:
    return getattr(bindings().CUfilter_mode, f"CU_TR_FILTER_MODE_{name.upper()}")
