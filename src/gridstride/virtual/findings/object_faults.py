"""What went wrong with a texture or surface object, in words: from the fault's numbers and the object's record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gridstride.virtual.abi.texture_objects import OBJECT_FAULTS
from gridstride.virtual.abi.texture_requests import CUBE, GEOMETRIES, LAYERED, LINEAR, SHAPE

if TYPE_CHECKING:
    from gridstride.virtual.machine.interfaces import VirtualDevice
    from gridstride.virtual.machine.variant import KernelSite

_SHAPES = {
    1: "one dimension", 2: "two dimensions", 3: "three dimensions", 1 | LAYERED: "one dimension in layers",
    2 | LAYERED: "two dimensions in layers", 2 | CUBE: "a cubemap", 2 | CUBE | LAYERED: "a layered cubemap",
    1 | LINEAR: "linear memory of one dimension (tex1Dfetch)",
}  # fmt: skip
if unmatched := _SHAPES.keys() ^ {*GEOMETRIES.values(), 1 | LINEAR}:
    raise ImportError(f"object_faults.py must have words for each shape: see {', '.join(map(str, sorted(unmatched)))}")
_MAKERS = {"texture": "gs.texture(…)", "surface": "gs.surface(…)"}
_TYPES = {"texture": "cudaTextureObject_t", "surface": "cudaSurfaceObject_t"}


def object_message(kind: str, record: Any, site: KernelSite | None, device: VirtualDevice) -> str:
    """`kind` is "texture" or "surface"; `record` the launch's."""
    why = OBJECT_FAULTS[int(record["fault_space"]) & 255]
    object_record = device.objects.records[int(record["fault_space"]) >> 8]
    number, size = int(record["fault_address"]), int(record["fault_size"])
    match why:
        case "unknown":
            return _unknown(kind, number, device)
        case "other_kind":
            given_kind = "surface" if kind == "texture" else "texture"
            return f"a {given_kind} object where a {kind} object is needed: {_MAKERS[kind]} makes one"
        case "geometry":
            return _geometry(kind, object_record, size & SHAPE, site)
        case "form":
            return f"`sust.p` of {size} channels, and this surface has {int(object_record['channels'])}"
        case "misaligned":
            return (
                f"x = {_signed(number)} bytes for {size} bytes at once: x of a surface access counts bytes and must be "
                f"a multiple of {size}: multiply the index by the element's size"
            )
    return _outside(object_record, number, size, site)


def _unknown(kind: str, handle: int, device: VirtualDevice) -> str:
    if handle in device.objects.without_memory:
        return f"the memory of the {kind} object {handle:#x} was freed: it has to be there until the launch is done"
    if device.objects.was_given(handle):
        return (
            f"the {kind} object {handle:#x} was destroyed: its gs.{kind.capitalize()} was closed, or nothing in Python "
            "held it any longer; keep it until the launch is done"
        )
    return (
        f"{handle:#x} is no {kind} object: pass what {_MAKERS[kind]} gives for a {_TYPES[kind]} parameter (on the "
        "hardware such an access is undefined)"
    )


def _geometry(kind: str, object_record: Any, shape: int, site: KernelSite | None) -> str:
    have = _SHAPES[int(object_record["shape"])]
    shape_name = _SHAPES[shape]
    name = f"`{site.name}`" if site else "the access"
    more = ": tex1Dfetch reads a device array (gs.texture(gs.to_device(x)))" if shape & LINEAR else ""
    return f"{name} is for {shape_name}, this {kind} is {have}{more}"


def _outside(object_record: Any, where: int, third: int, site: KernelSite | None) -> str:
    x, y = _signed(where & 0xFFFFFFFF), _signed(where >> 32)
    texel, width, height, depth, layers = (
        int(object_record[n]) for n in ("texel", "width", "height", "depth", "layers")
    )
    faces = 6 * max(1, layers) if object_record["cubemap"] else layers
    at = [f"x = {x} bytes"]
    extent = [f"{width} texels of {texel} bytes"]
    if height:
        at.append(f"y = {y}")
        extent.append(f"{height} rows")
    for count, letter, word in ((depth, "z", "deep"), (faces, "layer", "layers")):
        if count:
            at.append(f"{letter} = {_signed(third)}")
            extent.append(f"{count} {word}")
    verb = "read" if site is not None and site.name.startswith("suld") else "write"
    return (
        f"{verb} at {', '.join(at)}, outside of the surface ({', '.join(extent)}): the hardware stops the kernel "
        "there; check the index first, or pass cudaBoundaryModeZero or cudaBoundaryModeClamp"
    )


def _signed(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value
