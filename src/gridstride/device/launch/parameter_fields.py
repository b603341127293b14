"""How a launch converts and packs each parameter of a kernel, by what the source and the PTX say of it."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING

from gridstride.device.launch.object_arguments import object_convert, object_type, or_object
from gridstride.device.launch.pointers import pointer_convert
from gridstride.device.launch.scalars import Convert, PackedField, scalar_field

if TYPE_CHECKING:
    from gridstride.device.launch.parameters import KernelParameter
    from gridstride.protocol import Device


def parameter_field(kernel: str, parameter: KernelParameter, device: Device) -> PackedField:
    """How one parameter is converted and packed."""
    where, layout = f"{kernel}: {parameter.label}", parameter.layout
    scalar = scalar_field(where, parameter.type, layout.type, layout.size, parameter.dtype)
    if parameter.pointer is False:
        class_ = object_type(parameter.type) if layout.size == 8 else None
        return PackedField("Q", object_convert(where, parameter.type, class_, device)) if class_ else scalar
    pointer = pointer_convert(where, parameter.type, parameter.dtype, parameter.read_only, device)
    if parameter.pointer:
        return PackedField("Q", pointer)
    return PackedField("Q", or_object(_either(pointer, scalar.convert), where, device))


def _either(pointer: Convert, scalar: Convert) -> Convert:
    """For a 64-bit parameter of plain PTX, which may be an address or a number."""
    return lambda value: scalar(value) if isinstance(value, numbers.Integral) else pointer(value)
