"""Texture and surface objects as arguments: their handles, with the wrong kind or the wrong device refused."""

from __future__ import annotations

import numbers
import re
from typing import TYPE_CHECKING, Any

from gridstride.device.launch.scalars import Convert, as_int
from gridstride.device.textures import Surface, Texture
from gridstride.protocol import LaunchError

if TYPE_CHECKING:
    from gridstride.protocol import Device

_TYPES: dict[str, type[Texture] | type[Surface]] = {
    "cudaTextureObject_t": Texture, "CUtexObject": Texture, "cudaSurfaceObject_t": Surface, "CUsurfObject": Surface,
}  # fmt: skip
_WORD = re.compile(r"\w+")
_WORDS = {Texture: "gs.texture(…)", Surface: "gs.surface(…)"}


def object_type(spelled: str) -> type[Texture] | type[Surface] | None:
    """What a parameter of a C type takes; None where it is no texture or surface object by value."""
    if "*" in spelled or "&" in spelled or "[" in spelled:
        return None
    return next((_TYPES[word] for word in _WORD.findall(spelled) if word in _TYPES), None)


def object_convert(where: str, spelled: str, class_: type[Texture] | type[Surface], device: Device) -> Convert:
    """What turns a texture or surface object, or a handle that is already a number, into the handle."""

    def convert(value: Any) -> int:
        if isinstance(value, class_):
            return _handle(value, where, device)
        if isinstance(value, numbers.Integral):
            handle = as_int(value, where, spelled)
            if 0 <= handle < 1 << 64:
                return handle
        raise LaunchError(f"{where} is {spelled}, a {type(value).__name__} was given: pass {_WORDS[class_]}")

    return convert


def or_object(convert: Convert, where: str, device: Device) -> Convert:
    """For a 64-bit parameter of plain PTX, which may be a handle too."""
    return lambda value: _handle(value, where, device) if isinstance(value, Texture | Surface) else convert(value)


def _handle(value: Texture | Surface, where: str, device: Device) -> int:
    if value.device is not device:
        another = "another " if value.device.name == device.name else ""
        raise LaunchError(f"{where} is on {another}{value.device.name}, the kernel runs on {device.name}")
    if value.closed:
        raise LaunchError(f"{where}: this {type(value).__name__.lower()} object was closed")
    return value.handle
