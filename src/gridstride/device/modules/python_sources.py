"""Python functions as what a module is made from: Triton's and Numba's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gridstride.device.modules.sources import CompiledUnit
from gridstride.protocol import LinkInput

if TYPE_CHECKING:
    from gridstride.compiler import KernelSignature
    from gridstride.compiler.python.numba import NumbaFunction
    from gridstride.compiler.python.triton import TritonCode, TritonFunction


class TritonSource:
    """A Triton function, compiled for each chip as it is asked for."""

    def __init__(self, function: TritonFunction) -> None:
        self.function = function
        self.filename = function.location.file
        self.text = function.location.text
        self._codes: dict[str, TritonCode] = {}

    @property
    def signatures(self) -> Mapping[str, KernelSignature]:
        """The one kernel; what Triton adds to its parameters is known once it is compiled."""
        from gridstride.compiler.python.triton import triton_signature

        hidden = next(iter(self._codes.values())).hidden if self._codes else 0
        return {self.function.name: triton_signature(self.function, hidden)}

    def unit(self, arch: str, expression: str | None = None) -> CompiledUnit:
        """PTX for `arch`; gridstride.CompileError."""
        return CompiledUnit(self.code(arch).ptx)

    def code(self, arch: str) -> TritonCode:
        """PTX for `arch` with what a launch needs to know."""
        from gridstride.compiler.python.triton import compile_triton

        if arch not in self._codes:
            self._codes[arch] = compile_triton(self.function, arch=arch)
        return self._codes[arch]


class NumbaSource:
    """A function for Numba's CUDA compiler, compiled for each chip as it is asked for."""

    def __init__(self, function: NumbaFunction) -> None:
        self.function = function
        self.filename = function.location.file
        self.text = function.location.text
        self._units: dict[str, CompiledUnit] = {}

    @property
    def signatures(self) -> Mapping[str, KernelSignature]:
        """The one kernel, each array spread over its PTX parameters."""
        from gridstride.compiler.python.numba import numba_signature

        return {self.function.name: numba_signature(self.function)}

    def unit(self, arch: str, expression: str | None = None) -> CompiledUnit:
        """PTX for `arch`; gridstride.CompileError."""
        from gridstride.compiler.python.numba import compile_numba

        if arch not in self._units:
            code = compile_numba(self.function, arch=arch)
            own = LinkInput(code.ptx, self.filename, self.text)
            self._units[arch] = CompiledUnit(code.ptx, pieces=(own, *code.linked) if code.linked else ())
        return self._units[arch]
