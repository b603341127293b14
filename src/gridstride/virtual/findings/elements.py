"""Addresses in global memory as a kernel's author knows them: `x[1000] of 1000`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gridstride.virtual.errors import variable_name
from gridstride.virtual.findings.finding import KernelFinding
from gridstride.virtual.ptx.flow.provenance import parameter_of

if TYPE_CHECKING:
    from gridstride.virtual.machine.interfaces import LoadedKernel
    from gridstride.virtual.machine.variant import KernelSite


@dataclass(frozen=True, slots=True)
class Array:
    """What a pointer parameter points to, from its value to the end of the allocation, or a variable. `element` 0: not
    known.
    """

    name: str
    start: int
    size: int
    element: int

    def at(self, address: int) -> str:
        """`x[3]`; bytes where the elements are not known."""
        offset = address - self.start
        return f"{self.name}[{offset // self.element}]" if self.element else f"byte {offset} of {self.name}"

    @property
    def extent(self) -> str:
        """`1000 elements`."""
        return _plural(self.size // self.element, "element") if self.element else _plural(self.size, "byte")


def array_of(kernel: LoadedKernel, packed: bytes, index: int) -> Array | None:
    """A parameter as an array; None where its value is no address in an allocation."""
    parameter = kernel.parameters[index]
    value = int.from_bytes(packed[parameter.offset : parameter.offset + 8], "little")
    near = kernel.module.device.arena.nearest(value) if parameter.size == 8 else None
    if near is None or near.distance:
        return None
    name = kernel.labels[index] if index < len(kernel.labels) else f"parameter {index + 1}"
    element = kernel.elements[index] if index < len(kernel.elements) else 0
    return Array(name, value, near.start + near.size - value, element)


def array_at(kernel: LoadedKernel, packed: bytes, address: int) -> Array | None:
    """The array that an address lies in, or next to: a parameter's, else a variable."""
    near = kernel.module.device.arena.nearest(address)
    for index in range(len(kernel.parameters)):
        array = array_of(kernel, packed, index)
        if near is not None and array is not None and near.start <= array.start < near.start + near.size:
            return array
    return variable_at(kernel, near.start) if near is not None else None


def variable_at(kernel: LoadedKernel, start: int) -> Array | None:
    """The module's variable that begins at an address. Of arrays nvcc tells how they are aligned, and no type."""
    module = kernel.module
    for name in module.variable_names():
        address, size = module.global_address(name)
        if address == start and name in module.parsed.variables:
            align = module.parsed.variables[name].align
            return Array(variable_name(name), start, size, 0 if size % align else align)
    return None


def out_of_array(kernel: LoadedKernel, finding: KernelFinding, site: KernelSite | None, packed: bytes) -> KernelFinding:
    """A finding about bounds in global memory, told by the parameter that the address is made from, else by the one
    whose array is nearest; as it was where there is none.
    """
    if finding.kind != "out_of_bounds" or " at address " not in finding.message or finding.address is None:
        return finding
    array = _source_array(kernel, site, packed) or _beside(kernel, packed, finding.address)
    if array is None:
        return finding
    what, _, _ = finding.message.partition(" at address ")
    offset = finding.address - array.start
    side = "before the start" if offset < 0 else "past the end" if offset >= array.size else "over the end"
    where = f"{array.at(finding.address)}{' of ' if array.element else ', which has '}{array.extent}"
    return replace(finding, message=f"{what} at {where}, {_distance(array, offset)}{side} of its memory")


_POLLED = re.compile(r"the \d+ bytes at address (0x[0-9a-f]+) again and again")


def polled_in_array(kernel: LoadedKernel, finding: KernelFinding, packed: bytes) -> KernelFinding:
    """A finding about a loop that asks for global memory again and again, told by the parameter that it belongs to."""
    polled = _POLLED.search(finding.message)
    array = array_at(kernel, packed, int(polled[1], 16)) if polled else None
    if polled is None or array is None:
        return finding
    where = f"{array.at(int(polled[1], 16))} again and again"
    return replace(
        finding, message=finding.message.replace(polled[0], where).replace("again, which hold ", "again, which holds ")
    )


def _distance(array: Array, offset: int) -> str:
    beyond = -offset if offset < 0 else offset - array.size
    return f"{_plural(beyond, 'byte')} " if beyond > 0 else "just " if beyond == 0 else ""


def _source_array(kernel: LoadedKernel, site: KernelSite | None, packed: bytes) -> Array | None:
    function = kernel.module.parsed.functions.get(site.function) if site is not None else None
    if site is None or function is None or function.name != kernel.name:
        return None
    name = parameter_of(function, site.ptx_line)
    index = next((i for i, p in enumerate(function.params) if p.name == name), None)
    return None if index is None else array_of(kernel, packed, index)


NEAR = 4096
"""Bytes from an allocation within which an address with no known origin is taken to be meant for it."""


def _beside(kernel: LoadedKernel, packed: bytes, address: int) -> Array | None:
    near = kernel.module.device.arena.nearest(address)
    close = near is not None and abs(near.distance) <= NEAR
    return array_at(kernel, packed, address) if close else None


def _plural(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
