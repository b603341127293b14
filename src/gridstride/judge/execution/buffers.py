"""The memory a kernel under judgement works on: poisoned outputs, guard bands, and pristine copies to compare with."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, Protocol, runtime_checkable

import numpy as np

from gridstride.device.arrays import DeviceArray
from gridstride.device.creation import empty, to_device
from gridstride.judge.problem import Array, Case, Parameter, Problem, Signature, Sizes, Values
from gridstride.protocol import Device
from gridstride.virtual.gpu import VirtualGPU

_GUARD = 4096  # bytes on each side of a buffer: a multiple of the 256 that every allocation is aligned to
_GUARD_BYTE = 0xA7
_POISON_BYTES = 16 << 20  # a larger output is poisoned in parts of this size: the host need not hold all of it twice
# Two poisons, one for each run: an element that holds its poison after both was never written. As floats they are
# signalling NaNs, which any arithmetic turns into other ones: a kernel that adds to what was there has written.
_POISONS = {
    ("f", 2): (0x7DA5, 0xFD5A),
    ("f", 4): (0x7FA5A5A5, 0xFF9A5A5A),
    ("f", 8): (0x7FF4A5A5A5A5A5A5, 0xFFF25A5A5A5A5A5A),
}
_OTHER_POISONS = (0xFF, 0x5A)  # every byte of anything else: whole numbers have no values to spare


@runtime_checkable
class Forgetful(Protocol):
    """A device that can tell whether a kernel reads what nothing has written, poison not counted."""

    def forget(self, address: int, nbytes: int) -> None: ...


@dataclass(frozen=True, slots=True)
class _Buffer:
    parameter: Parameter
    allocation: object  # keeps the memory
    array: DeviceArray
    guard: int

    @property
    def bands(self) -> tuple[int, int]:
        """Addresses of the guard bands before and after the array, however it is aligned."""
        return self.array.address - self.guard, self.array.address + self.array.nbytes


@dataclass(frozen=True, slots=True)
class Placement:
    """Where arrays lie: `offsets` in bytes behind an allocation's start, by name; `mirrored`: memory is taken for the
    last array first; `guarded`: with guard bands, where nothing else checks bounds.
    """

    offsets: Mapping[str, int] = field(default_factory=dict)
    mirrored: bool = False
    guarded: bool = True


_USUAL = Placement()


class Buffers:
    """Device memory for one run of one case.

    On the virtual GPU every buffer is an allocation of its own, whose bounds are checked at each access; guard bands
    would only hide what lies just outside. On a physical GPU nothing checks bounds, so guard bands catch writes.
    """

    def __init__(
        self,
        device: Device,
        problem: Problem | Signature,
        sizes: Sizes,
        inputs: Values,
        placement: Placement = _USUAL,
    ) -> None:
        self._device, self._inputs = device, inputs
        self.names = tuple(parameter.name for parameter in problem.parameters)
        self._buffers: list[_Buffer] = []
        self._scalars: dict[int, str] = {}  # place among the arguments -> name
        self.arguments: list[Any] = []
        guard = _GUARD if placement.guarded and not isinstance(device, VirtualGPU) else 0
        allocated = {
            p.name: _allocate(device, p, problem.shape(p, sizes), placement.offsets.get(p.name, 0), guard)
            for p in (reversed(problem.parameters) if placement.mirrored else problem.parameters)
            if p.role != "scalar"
        }
        for parameter in problem.parameters:
            if parameter.role == "scalar":
                self._scalars[len(self.arguments)] = parameter.name
                self.arguments.append(inputs[parameter.name])
            else:
                self._buffers.append(allocated[parameter.name])
                self.arguments.append(allocated[parameter.name].array)

    @classmethod
    def of_case(cls, device: Device, signature: Signature, case: Case, inputs: Values) -> Buffers:
        """Where and in what order the case says that arrays lie."""
        return cls(device, signature, case.sizes, inputs, Placement(case.offsets, case.mirrored))

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays together."""
        return sum(buffer.array.nbytes for buffer in self._buffers)

    def fill(self, run: int, inputs: Values | None = None) -> None:
        """Put inputs in place, poison the outputs with the poison of run 0 or 1, and set the guards.

        Other `inputs` than those before take their place, numbers too.
        """
        if inputs is not None:
            self._inputs = inputs
            for number, name in self._scalars.items():
                self.arguments[number] = inputs[name]
        for buffer in self._buffers:
            if buffer.guard:
                band = np.full(buffer.guard, _GUARD_BYTE, np.uint8)
                for address in buffer.bands:
                    self._device.copy_in(address, band)
            if not buffer.parameter.given:
                self._poison(buffer.array, run)
            else:
                buffer.array.copy_from(self._inputs[buffer.parameter.name])

    def refill(self, stock: Stock) -> None:
        """Put other data in place without the host's doing, and poison the outputs. Guards are left as they are."""
        for number, name in self._scalars.items():
            self.arguments[number] = stock.numbers[name]
        for buffer in self._buffers:
            array, source = buffer.array, stock.arrays[buffer.parameter.name]
            for start in range(0, array.nbytes, source.nbytes or 1):
                part = min(source.nbytes, array.nbytes - start)
                self._device.copy_within(array.address + start, source.address, part)

    def part(self, name: str, slices: tuple[slice, ...]) -> Array:
        """A piece of what the kernel left in an array; only it is read where it lies in one go."""
        array = next(b.array for b in self._buffers if b.parameter.name == name)
        if not slices or slices[0] == slice(None) or slices[0].start is None:
            return array.numpy()[slices]
        rows = slices[0]
        row = array.nbytes // max(array.shape[0], 1)
        host = np.empty((rows.stop - rows.start, *array.shape[1:]), array.dtype)
        self._device.copy_out(host, array.address + rows.start * row)
        return host[(slice(None), *slices[1:])]

    def results(self) -> dict[str, Array]:
        """What the kernel left in each array that it may write."""
        return {b.parameter.name: b.array.numpy() for b in self._buffers if b.parameter.written}

    def output_at(self, address: int) -> str | None:
        """The output that holds nothing before the kernel runs and has this address; None where it is another's."""
        for buffer in self._buffers:
            offset = address - buffer.array.address
            if buffer.parameter.role == "out" and 0 <= offset < buffer.array.nbytes:
                return buffer.parameter.name
        return None

    @property
    def inputs(self) -> list[tuple[int, int]]:
        """Address and bytes of each array that the kernel is only to read."""
        only = (b.array for b in self._buffers if b.parameter.role == "in")
        return [(array.address, array.nbytes) for array in only]

    def input_at(self, address: int) -> str | None:
        """The input that has this address; None where it is another's."""
        for buffer in self._buffers:
            if buffer.parameter.role == "in" and 0 <= address - buffer.array.address < buffer.array.nbytes:
                return buffer.parameter.name
        return None

    def changed_inputs(self) -> list[str]:
        """Names of inputs that no longer hold what they held."""
        inputs = (buffer for buffer in self._buffers if buffer.parameter.role == "in")
        return [b.parameter.name for b in inputs if not _same_bits(b.array.numpy(), self._inputs[b.parameter.name])]

    def broken_guards(self) -> list[tuple[str, int]]:
        """Arrays next to which the kernel wrote, with the distance in bytes: negative for before the array."""
        broken = []
        for buffer in self._buffers:
            for address in buffer.bands if buffer.guard else ():
                band = np.empty(buffer.guard, np.uint8)
                self._device.copy_out(band, address)
                touched = np.flatnonzero(band != _GUARD_BYTE)
                if touched.size:
                    first = address + int(touched[0]) - buffer.array.address
                    distance = first if first < 0 else first - buffer.array.nbytes
                    broken.append((buffer.parameter.name, distance))
                    break
        return broken

    def _poison(self, array: DeviceArray, run: int) -> None:
        part = _poison(array.dtype, min(array.nbytes, _POISON_BYTES), run)
        for start in range(0, array.nbytes, _POISON_BYTES):
            self._device.copy_in(array.address + start, part[: array.nbytes - start])
        if isinstance(self._device, Forgetful):
            self._device.forget(array.address, array.nbytes)  # who reads it before writing to it makes a mistake


class Stock:
    """One draw of data, kept on the device to fill buffers with again and again; of an output, poison."""

    def __init__(self, device: Device, problem: Problem, sizes: Sizes, inputs: Values) -> None:
        self.numbers: dict[str, Any] = {p.name: inputs[p.name] for p in problem.parameters if p.role == "scalar"}
        self.arrays: dict[str, DeviceArray] = {}
        for parameter in problem.parameters:
            if not parameter.given:
                dtype = np.dtype(parameter.dtype)
                nbytes = prod(problem.shape(parameter, sizes)) * dtype.itemsize
                self.arrays[parameter.name] = to_device(_poison(dtype, min(nbytes, _POISON_BYTES), 0), device=device)
            elif parameter.role != "scalar":
                self.arrays[parameter.name] = to_device(inputs[parameter.name], device=device)


def never_written(first: Array, second: Array) -> Array:
    """Which elements still held the poison of their run after both runs."""
    return poisoned(first, 0) & poisoned(second, 1)


def poisoned(values: Array, run: int) -> Array:
    """Which elements hold the poison of run 0 or 1."""
    size = values.dtype.itemsize
    raw = np.ascontiguousarray(values).reshape(-1).view(np.uint8).reshape(*values.shape, size)
    poisoned_elements: Array = (raw == _poison(values.dtype, size, run)).all(axis=-1)
    return poisoned_elements


def _poison(dtype: np.dtype[Any], nbytes: int, run: int) -> Array:
    pair = _POISONS.get((dtype.kind, dtype.itemsize))
    if pair is None:
        return np.full(nbytes, _OTHER_POISONS[run], np.uint8)
    return np.full(-(-nbytes // dtype.itemsize), pair[run], f"u{dtype.itemsize}").view(np.uint8)[:nbytes]


def _allocate(device: Device, parameter: Parameter, shape: tuple[int, ...], offset: int, guard: int) -> _Buffer:
    dtype = np.dtype(parameter.dtype)
    nbytes, lead = prod(shape) * dtype.itemsize, offset * dtype.itemsize
    if isinstance(device, VirtualGPU):
        memory = _Allocation(device, nbytes, lead)
        return _Buffer(parameter, memory, DeviceArray(device, memory.address, shape, dtype, owner=memory), 0)
    allocation = empty(nbytes + lead + 2 * guard, np.uint8, device=device)
    array = DeviceArray(device, allocation.address + guard + lead, shape, dtype, owner=allocation)
    return _Buffer(parameter, allocation, array, guard)


class _Allocation:
    """Memory of the virtual GPU with bounds of its own, wherever it begins; given back with the last reference."""

    def __init__(self, device: VirtualGPU, nbytes: int, lead: int) -> None:
        self.address = device.allocate(max(nbytes, 1), lead) if nbytes else 0
        if nbytes:
            weakref.finalize(self, device.abandon, device.free, self.address).atexit = False


def _same_bits(left: Array, right: Array) -> bool:
    return left.tobytes() == np.ascontiguousarray(right).tobytes()
