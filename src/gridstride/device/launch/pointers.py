"""Arrays as arguments: what may stand for a pointer parameter, and the copies that host arrays need."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from gridstride.closed_at_end import ClosedAtEnd
from gridstride.device.arrays import DeviceArray
from gridstride.device.launch.scalars import Convert
from gridstride.device.launch.views import ArrayView, array_view
from gridstride.device.mapped import is_mapped
from gridstride.protocol import DeviceError, LaunchError

if TYPE_CHECKING:
    from gridstride.protocol import Device

# C has one kind of byte: char, signed and unsigned char and bool arrays hold the same thing.
_BYTES = frozenset({"int8", "uint8", "bool"})
_CHECKED = _BYTES | {
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (16, 32, 64)),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
}


@dataclass(frozen=True, slots=True)
class HostArgument:
    """A host array that a launch must bring to the device, and back where the kernel may write to it."""

    array: np.ndarray[Any, Any]
    address: int
    write_back: bool


def pointer_convert(where: str, spelled: str, dtype: str | None, read_only: bool | None, device: Device) -> Convert:
    """What turns an argument into an address on `device`, or into a HostArgument to be staged.

    `dtype` None takes every dtype. `read_only` None: unknown, so the kernel may write.
    """
    allowed = _allowed(spelled, dtype)

    def convert(value: Any) -> int | HostArgument:
        if type(value) is DeviceArray:
            if value.device is not device:
                another = "another " if value.device.name == device.name else ""
                raise LaunchError(f"{where} is on {another}{value.device.name}, the kernel runs on {device.name}")
            if allowed is not None and value.dtype_name not in allowed:
                raise _wrong_dtype(where, spelled, value.dtype_name, dtype)
            return value.address
        if value is None:
            return 0
        if isinstance(value, ctypes.c_void_p):
            return value.value or 0
        view = array_view(value)
        if view is None:
            raise LaunchError(f"{where} is {spelled}, a {type(value).__name__} was given: pass an array")
        if allowed is not None and not view.problem and view.dtype_name not in allowed:
            raise _wrong_dtype(where, spelled, view.dtype_name, dtype)
        _check_view(view, where)
        if view.differentiated and read_only is False:
            raise LaunchError(
                f"{where} is {spelled}, which the kernel may write to, and the tensor requires a gradient, which would "
                "be wrong: pass a tensor's .detach(), launch under torch.no_grad(), write const in the kernel where it "
                "only reads, or make an op of it with gs.torch_op"
            )
        if view.place != "host":
            return _device(view, where, device)
        converted = _host(view, where, spelled, read_only)
        return view.address if converted and is_mapped(device, view.address, view.nbytes) else converted

    return convert


def _allowed(spelled: str, dtype: str | None) -> frozenset[str] | None:
    if dtype is None or dtype not in _CHECKED:
        return None
    if dtype in _BYTES:
        return _BYTES
    # float2 is how CUDA spells a complex number too; NumPy itself has no bfloat16, so its bits may come as they are.
    paired = {"float2": {"complex64"}, "double2": {"complex128"}}
    bits = {"uint16"} if dtype == "bfloat16" else set[str]()
    return frozenset({dtype}).union(bits, *(also for name, also in paired.items() if name in spelled))


def _wrong_dtype(where: str, spelled: str, actual: str, dtype: str | None) -> LaunchError:
    """With the way out: NumPy's arrays of numbers with a point are float64 unless told otherwise."""
    library = "torch" if dtype == "bfloat16" else "np"
    convert = ".to(torch.bfloat16)" if library == "torch" else f".astype(np.{dtype})"
    return LaunchError(
        f"{where} is {spelled}, an array of {actual} was given: make it with dtype={library}.{dtype}, or pass "
        f"a{convert} and keep that: it is what the kernel reads and writes"
    )


def _check_view(view: ArrayView, where: str) -> None:
    if view.problem:
        raise LaunchError(f"{where} {view.problem}")
    if not view.contiguous:
        raise LaunchError(f"{where} is not C-contiguous: pass np.ascontiguousarray(…), or a tensor's .contiguous()")


def _host(view: ArrayView, where: str, spelled: str, read_only: bool | None) -> int | HostArgument:
    if not view.writable and not read_only:
        raise LaunchError(
            f"{where} is {spelled}, which the kernel may write to, and the array is read-only: pass a copy"
        )
    if not view.nbytes:
        return 0
    assert view.host is not None
    return HostArgument(view.host, view.address, not read_only)


def _device(view: ArrayView, where: str, device: Device) -> int:
    if device.kind != "physical":
        raise LaunchError(f"{where} is on {view.place}, the kernel runs on {device.name}: pass a host array")
    ordinal = getattr(device, "ordinal", 0)
    if view.place not in ("cuda", f"cuda:{ordinal}"):
        raise LaunchError(f"{where} is on {view.place}, the kernel runs on cuda:{ordinal}")
    return view.address


class Staging(ClosedAtEnd):
    """Device copies of host arguments for one launch; arrays that overlap in host memory share one buffer.

    A context manager: on entry the buffers are filled and the HostArguments in `values` become addresses; on the way
    out the buffers are freed, whatever happened.
    """

    def __init__(self, device: Device, values: list[Any]) -> None:
        self._device = device
        self._values = values
        self._arguments = [value for value in values if type(value) is HostArgument]
        self._buffers: list[int] = []
        self._shift: dict[int, int] = {}  # host address of an argument -> what to add for its device address

    def __enter__(self) -> Self:
        try:
            for group in _overlapping(self._arguments):
                self._place_group(group)
        except BaseException:
            self.close()
            raise
        for number, value in enumerate(self._values):
            if type(value) is HostArgument:
                self._values[number] = self._address(value)
        return self

    def copy_back(self) -> None:
        """Bring what the kernel wrote to the host arrays."""
        copied: set[tuple[int, int]] = set()
        for argument in self._arguments:
            extent = (argument.address, argument.array.nbytes)
            if argument.write_back and extent not in copied:
                copied.add(extent)
                self._device.copy_out(argument.array, self._address(argument))

    def _place_group(self, group: Sequence[HostArgument]) -> None:
        start = group[0].address
        end = max(argument.address + argument.array.nbytes for argument in group)
        buffer = self._allocate(start, end - start)
        self._buffers.append(buffer)
        copied: set[tuple[int, int]] = set()
        for argument in group:
            self._shift[argument.address] = buffer - start
            extent = (argument.address, argument.array.nbytes)
            if extent not in copied:
                copied.add(extent)
                self._device.copy_in(self._address(argument), argument.array)

    def _allocate(self, start: int, nbytes: int) -> int:
        """Device memory for the bytes that begin at host address `start`."""
        return self._device.allocate(nbytes)

    def _address(self, argument: HostArgument) -> int:
        return argument.address + self._shift[argument.address]

    def close(self) -> None:
        while self._buffers:
            with suppress(DeviceError):  # the context is lost: the launch's own error is on its way
                self._device.free(self._buffers.pop())


def _overlapping(arguments: list[HostArgument]) -> list[list[HostArgument]]:
    groups: list[list[HostArgument]] = []
    end = -1
    for argument in sorted(arguments, key=lambda argument: argument.address):
        if argument.address < end:
            groups[-1].append(argument)
        else:
            groups.append([argument])
        end = max(end, argument.address + argument.array.nbytes)
    return groups
