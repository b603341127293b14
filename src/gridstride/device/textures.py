"""Texture and surface objects: texels on the device, and the handles that kernels read and write them by."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gridstride.device.arrays import DeviceArray
from gridstride.device.choice import device as choose
from gridstride.device.element_types import BFLOAT16
from gridstride.device.launch.views import host_values
from gridstride.device.texture_checks import DTYPES, Axes, Modes, layout_of, linear_layout, sampling_of
from gridstride.protocol import ImageLayout, TextureSampling

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from gridstride.protocol import Device


class TextureImage(Protocol):
    """Texels on one of the two machines."""

    def write(self, level: int, host: np.ndarray[Any, Any]) -> None: ...
    def read(self, level: int, host: np.ndarray[Any, Any]) -> None: ...
    def texture(self, sampling: TextureSampling) -> int: ...
    def surface(self) -> int: ...
    def destroy_texture(self, handle: int) -> None: ...
    def destroy_surface(self, handle: int) -> None: ...
    def free(self) -> None: ...


class Texels:
    """Texels in device memory, freed with the last texture or surface object on them."""

    def __init__(self, device: Device, layout: ImageLayout, shape: tuple[int, ...], memory: DeviceArray | None) -> None:
        self.device, self.layout, self.shape, self.memory = device, layout, shape, memory
        self.dtype = np.dtype(layout.dtype)
        self.image = _image(device, layout, memory.address if memory is not None else 0)
        if memory is None:
            weakref.finalize(self, device.abandon, self.image.free).atexit = False

    def numpy(self, level: int) -> np.ndarray[Any, Any]:
        if self.memory is not None:
            return self.memory.numpy()
        host = np.empty(level_shape(self.layout, self.shape, level), self.dtype)
        self.image.read(level, host)
        return host


class _Object:
    """What textures and surfaces share."""

    _kind = ""

    def __init__(self, texels: Texels, handle: int, destroy: Callable[[int], None]) -> None:
        self._texels = texels
        self.handle = handle
        self._end = weakref.finalize(self, texels.device.abandon, destroy, handle)
        self._end.atexit = False

    @property
    def device(self) -> Device:
        """Where the texels are."""
        return self._texels.device

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape, channels last."""
        return self._texels.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of a channel."""
        return self._texels.dtype

    @property
    def layout(self) -> ImageLayout:
        """The texels as the hardware counts them."""
        return self._texels.layout

    def numpy(self, level: int = 0) -> np.ndarray[Any, Any]:
        """A copy of a mipmap level's texels in host memory."""
        if not 0 <= level < self.layout.levels:
            raise ValueError(f"{self._kind}: level {level} of {self.layout.levels}")
        return self._texels.numpy(level)

    @property
    def closed(self) -> bool:
        """Whether `close` has ended the object."""
        return not self._end.alive

    def close(self) -> None:
        """Destroys the object now: its handle is no longer valid in kernels."""
        self._end()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dtype}{list(self.shape)} on {self.device.name})"


class Texture(_Object):
    """A texture object, for a `cudaTextureObject_t` parameter; `handle` is its number."""

    _kind = "texture"

    def __init__(self, texels: Texels, sampling: TextureSampling) -> None:
        super().__init__(texels, texels.image.texture(sampling), texels.image.destroy_texture)
        self.sampling = sampling


class Surface(_Object):
    """A surface object, for a `cudaSurfaceObject_t` parameter; `handle` is its number."""

    _kind = "surface"

    def __init__(self, texels: Texels) -> None:
        super().__init__(texels, texels.image.surface(), texels.image.destroy_surface)


def texture(
    array: object, *, address: str | Sequence[str] = "clamp", filter: str = "point", normalized: bool = False,
    read: str = "element", channels: int = 1, layered: bool = False, cubemap: bool = False,
    mipmaps: Sequence[object] = (), mipmap_filter: str = "point", lod_bias: float = 0.0,
    lod_range: tuple[float, float] | None = None, border: float | Sequence[float] = 0.0, srgb: bool = False,
    device: Device | str | None = None,
) -> Texture:  # fmt: skip
    """A texture over a copy of a host array, over a device array in place (linear memory), or over a surface's texels.

    With `channels` 2 or 4 the last axis holds them. `layered`: the first axis is the layers; `cubemap`: the first axis
    (behind the layers) is the six faces +x, -x, +y, -y, +z, -z. `mipmaps`: arrays of the levels after the first, each
    half as large. `address`: clamp, wrap, mirror or border, one word or one for x, y, z; `filter`: point or linear;
    `read`: element, or normalized_float for integers as 0 to 1 (-1 to 1). ValueError for what does not go together.
    """
    modes = Modes(address, filter, normalized, read, srgb, border, mipmap_filter, lod_bias, lod_range)
    if isinstance(array, Surface):
        return Texture(array._texels, sampling_of(array.layout, modes))
    if isinstance(array, DeviceArray):
        if layered or cubemap or mipmaps:
            raise ValueError("texture: layers, cube faces and mipmaps lie in CUDA arrays: pass a NumPy array")
        _check_no_bits("texture", array.dtype_name)
        layout = linear_layout("texture", array.shape, array.dtype, channels, array.address)
        sampling = sampling_of(layout, modes)
        return Texture(Texels(array.device, layout, array.shape, array), sampling)
    levels = [_values("texture", level) for level in (array, *mipmaps)]
    first = levels[0]
    axes = Axes(channels, layered, cubemap)
    layout = layout_of("texture", first.shape, first.dtype, axes, levels=len(levels))
    _check_levels(layout, levels)
    sampling = sampling_of(layout, modes)
    texels = Texels(choose(device), layout, first.shape, None)
    for level, values in enumerate(levels):
        texels.image.write(level, values)
    return Texture(texels, sampling)


def surface(
    shape_or_array: object, dtype: DTypeLike | None = None, *, channels: int = 1, layered: bool = False,
    cubemap: bool = False, device: Device | str | None = None,
) -> Surface:  # fmt: skip
    """A surface over zeros of a shape and dtype (float32 if not said), or over a copy of a host array.

    With `channels` 2 or 4 the last axis of the shape holds them. ValueError for what the hardware does not have.
    """
    if isinstance(shape_or_array, int | np.integer):
        shape_or_array = (int(shape_or_array),)
    if isinstance(shape_or_array, tuple):
        values = np.zeros(shape_or_array, np.float32 if dtype is None else dtype)
    else:
        values = _values("surface", shape_or_array)
        if dtype is not None and values.dtype != np.dtype(dtype):
            raise ValueError(f"surface: dtype={np.dtype(dtype).name} given with an array of {values.dtype.name}")
    layout = layout_of("surface", values.shape, values.dtype, Axes(channels, layered, cubemap), surface=True)
    texels = Texels(choose(device), layout, values.shape, None)
    texels.image.write(0, values)
    return Surface(texels)


def _values(what: str, array: object) -> np.ndarray[Any, Any]:
    values, name = host_values(array)
    _check_no_bits(what, name)
    return values


def _check_no_bits(what: str, name: str) -> None:
    """bfloat16 lies in uint16, which the hardware has: it would read other numbers."""
    if name == BFLOAT16:
        raise ValueError(f"{what}: dtype {name}: the hardware has {', '.join(DTYPES)}")


def level_shape(layout: ImageLayout, shape: tuple[int, ...], level: int) -> tuple[int, ...]:
    """The shape of a mipmap level's array; layers, faces and channels stay."""
    first = bool(layout.layers) + layout.cubemap
    last = len(shape) - (layout.channels > 1)
    return tuple(max(1, n >> level) if first <= axis < last else n for axis, n in enumerate(shape))


def _check_levels(layout: ImageLayout, levels: Sequence[np.ndarray[Any, Any]]) -> None:
    for level, values in enumerate(levels):
        expected = level_shape(layout, levels[0].shape, level)
        if values.shape != expected or values.dtype != levels[0].dtype:
            raise ValueError(
                f"texture: mipmap level {level} is {values.dtype}{list(values.shape)}, it must be "
                f"{levels[0].dtype}{list(expected)}"
            )
    most = max(layout.width, layout.height, layout.depth).bit_length()
    if len(levels) > most:
        raise ValueError(f"texture: {len(levels)} mipmap levels; an array of {levels[0].shape} has {most}")


def _image(device: Device, layout: ImageLayout, address: int) -> TextureImage:
    if device.kind == "physical":
        from gridstride.device.physical.physical_gpu import PhysicalGPU
        from gridstride.device.physical.physical_textures import PhysicalImage

        assert isinstance(device, PhysicalGPU)
        return PhysicalImage(device, layout, address)
    from gridstride.virtual.gpu import VirtualGPU
    from gridstride.virtual.machine.memory.images import VirtualImage

    assert isinstance(device, VirtualGPU)
    return VirtualImage(device, layout, address)
