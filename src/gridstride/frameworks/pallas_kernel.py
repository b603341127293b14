"""One kernel of JAX's Pallas: Triton's text as JAX writes it, compiled for a chip, launched with arrays of the host."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.compiler.python.triton_text import compile_text
from gridstride.compiler.signature import KernelSignature, SourceParameter
from gridstride.device.choice import asked_for, use
from gridstride.device.creation import empty, to_device
from gridstride.device.modules.module import Module
from gridstride.device.modules.sources import CompiledUnit
from gridstride.frameworks.observers import latest_watches
from gridstride.frameworks.triton_launcher import hidden_values, run_kernel

if TYPE_CHECKING:
    from gridstride.compiler.python.triton import TritonCode
    from gridstride.device.arrays import DeviceArray
    from gridstride.protocol import Device

Array = np.ndarray[Any, Any]
_PLACE = re.compile(r"(?P<name>\S+) at (?P<file>.*):(?P<line>\d+)$")
_UNKNOWN = "loc(unknown)"


@dataclass(frozen=True, slots=True)
class FunctionLine:
    """Where the kernel's function is defined."""

    file: str
    line: int

    @classmethod
    def of(cls, words: str | None) -> FunctionLine:
        """From "name at file:line", as JAX says it."""
        match = _PLACE.search(words or "")
        return cls(match["file"], int(match["line"])) if match else cls("<pallas>", 1)

    @property
    def text(self) -> str:
        """The file's; empty where it is none."""
        try:
            return Path(self.file).read_text(errors="replace")
        except OSError:
            return ""

    def located(self, ttir: str) -> str:
        """Triton's text in which what has no place has this one, so that the kernel is known to be of its file."""
        return ttir.replace(_UNKNOWN, f'loc("{self.file}":{self.line}:0)')


class PallasSource:
    """The source of a module: the same PTX for any chip, which may refuse it."""

    def __init__(self, location: FunctionLine, code: TritonCode, names: Sequence[str]) -> None:
        self.filename = location.file
        self.text = location.text
        own = [SourceParameter(name, "void*", True, None) for name in names]
        scratch = [SourceParameter(f"scratch {number}", "void*", True, None) for number in range(1, code.hidden + 1)]
        self.signatures: Mapping[str, KernelSignature] = {
            code.entry: KernelSignature(code.entry, (*own, *scratch), (), location.line)
        }
        self._unit = CompiledUnit(code.ptx)

    def unit(self, arch: str, expression: str | None = None) -> CompiledUnit:
        """The PTX that there is."""
        return self._unit


@dataclass(frozen=True, slots=True)
class PallasCall:
    """What JAX says of one `pallas_call`: Triton's text, and how it is to be launched.

    `names` are of all parameters, inputs first. `outputs`: shape and dtype of each. `aliases`: the number of an input
    for each output that takes its place.
    """

    ttir: str
    location: FunctionLine
    grid: tuple[int, int, int]
    num_warps: int
    num_stages: int
    names: Sequence[str]
    outputs: Sequence[tuple[tuple[int, ...], Any]]
    aliases: Mapping[int, int]


class PallasKernel:
    """What a `pallas_call` launches. Called with the inputs as NumPy arrays, it gives the outputs.

    `device` is used where the thread that calls has asked for none.
    """

    def __init__(self, call: PallasCall, device: Device) -> None:
        self._code = compile_text(
            call.location.located(call.ttir), parameters=len(call.names), num_warps=call.num_warps,
            num_stages=call.num_stages, arch=device.properties.arch,
        )  # fmt: skip
        self._kernel = Module(PallasSource(call.location, self._code, call.names))[self._code.entry]
        self._call, self._device = call, device

    def __call__(self, *inputs: Array) -> list[Array]:
        """KernelFault; LaunchError for what the chip cannot run."""
        with use(asked_for() or self._device), latest_watches():
            arguments = [to_device(_plain(np.asarray(array))) for array in inputs]
            outputs = [self._output(number, arguments) for number in range(len(self._call.outputs))]
            values = [*arguments, *outputs, *hidden_values(self._code, self._call.grid)]
            how = {"grid": self._call.grid, "block": self._code.threads, "shared": self._code.shared}
            run_kernel(self._kernel, values, how)
            pairs = zip(outputs, self._call.outputs, strict=True)
            return [array.numpy().view(dtype).reshape(shape) for array, (shape, dtype) in pairs]

    def _output(self, number: int, arguments: Sequence[DeviceArray]) -> DeviceArray:
        if number in self._call.aliases:
            return arguments[self._call.aliases[number]]
        shape, dtype = self._call.outputs[number]
        return empty(max(1, int(np.prod(shape))), _stored(dtype))


def _stored(dtype: Any) -> np.dtype[Any]:
    """The type of NumPy's own that holds such values: bfloat16 and float8 are others'."""
    kind = np.dtype(dtype)
    return kind if kind.kind in "biufc" else np.dtype(f"u{kind.itemsize}")


def _plain(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(_stored(array.dtype))
