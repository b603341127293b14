"""A launch as the driver takes it: a structure and a table of pointers for each thread, filled in place.

cuda.bindings makes objects of each structure and each result, which takes longer than the driver does; a launch is the
one call of the driver that is made thousands of times a second, so it goes by ctypes.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from gridstride.device.physical.driver import bindings, library
from gridstride.protocol import Dim3, ParameterLayout, Shape

_CONFIG = struct.Struct("<7I4xQQI4x")
"""CUlaunchConfig: grid, block, dynamic shared bytes, stream, attributes, how many (cuda.h; 64 bits, little-endian)."""
_ATTRIBUTE = struct.Struct("<i4x3I52x")
"""CUlaunchAttribute: its id, and up to three words of its value, which has room for 64 bytes."""


class Attributes(NamedTuple):
    """What is said of a launch beside its shape, as an array of CUlaunchAttribute."""

    array: Any  # keeps it alive
    address: int
    length: int


@functools.cache  # a handful of combinations
def attributes(cooperative: bool, dependent: bool, cluster: Dim3 | None) -> Attributes:
    """Of a launch; empty where it is an ordinary one."""
    ids = bindings().CUlaunchAttributeID
    rows: list[tuple[Any, Dim3]] = []
    if cooperative:
        rows.append((ids.CU_LAUNCH_ATTRIBUTE_COOPERATIVE, (1, 0, 0)))
    if dependent:
        rows.append((ids.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, (1, 0, 0)))
    if cluster:
        rows.append((ids.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, cluster))
    array = ctypes.create_string_buffer(_ATTRIBUTE.size * max(len(rows), 1))
    for number, (which, words) in enumerate(rows):
        _ATTRIBUTE.pack_into(array, number * _ATTRIBUTE.size, int(which), *words)
    return Attributes(array, ctypes.addressof(array) if rows else 0, len(rows))


class Frame:
    """One kernel's launches from one thread."""

    def __init__(self, parameters: Sequence[ParameterLayout]) -> None:
        self._launch = library().cuLaunchKernelEx
        self._config = ctypes.create_string_buffer(_CONFIG.size)
        self._packed = ctypes.create_string_buffer(
            max((parameter.offset + parameter.size for parameter in parameters), default=1)
        )
        base = ctypes.addressof(self._packed)
        self._table = (ctypes.c_void_p * max(len(parameters), 1))(
            *(base + parameter.offset for parameter in parameters)
        )
        self._addresses = tuple(
            ctypes.c_void_p(ctypes.addressof(structure)) for structure in (self._config, self._table)
        )

    def launch(self, function: ctypes.c_void_p, shape: Shape, packed: bytes, stream: int, more: Attributes) -> int:
        """The driver's result; it has copied what lies here when it returns."""
        _CONFIG.pack_into(self._config, 0, *shape.grid, *shape.block, shape.shared, stream, more.address, more.length)
        ctypes.memmove(self._packed, packed, len(packed))
        config, table = self._addresses
        return int(self._launch(config, function, table, None))
