"""What a module is made from: CUDA C++, compiled for each chip and template as it is asked for, or PTX as it is."""

from __future__ import annotations

import functools
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from gridstride.protocol import LinkInput

if TYPE_CHECKING:
    from gridstride.compiler import Compiled, Diagnostic, KernelSignature

_NAME = re.compile(r"(?:::)?(\w+(?:::\w+)*)\s*(<.*>)?\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CompiledUnit:
    """PTX of one compilation, and the PTX name of the expression that it was made for.

    With `pieces`, those are what is loaded, linked to one, and `ptx` only shows them.
    """

    ptx: str
    lowered: str | None = None
    pieces: tuple[LinkInput, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    """Mangled names with the parameter types of kernels, by PTX name, where that itself has none."""


class Source(Protocol):
    """Where a module's PTX comes from."""

    filename: str

    @property
    def text(self) -> str | None:
        """The source to show beside a finding; None when the PTX is all there is."""

    @property
    def signatures(self) -> Mapping[str, KernelSignature]:
        """Kernels by their source name with its namespaces, as far as the source tells."""

    def unit(self, arch: str, expression: str | None = None) -> CompiledUnit:
        """PTX for `arch`: of everything, or of one template instance."""


class CudaSource:
    """CUDA C++ and how to compile it."""

    def __init__(
        self, text: str, *, options: Sequence[str], filename: str, include_paths: Sequence[str],
        compiler: str | None = None,
    ) -> None:  # fmt: skip
        self.text: str | None = text
        self.filename = filename
        self._code = text
        self._options = options if isinstance(options, str) else tuple(options)  # one string is refused in words
        self._include_paths = tuple(include_paths)
        self._compiler = compiler
        self._units: dict[tuple[str, str | None], CompiledUnit] = {}
        self._warned: set[Diagnostic] = set()

    @functools.cached_property
    def signatures(self) -> Mapping[str, KernelSignature]:
        """Kernels found in the source by a tokenizer."""
        from gridstride.compiler import cached_signatures

        return cached_signatures(self._code)

    def unit(self, arch: str, expression: str | None = None) -> CompiledUnit:
        """PTX for `arch`; gridstride.CompileError."""
        key = (arch, expression)
        if key not in self._units:
            self._compile(arch, expression)
        return self._units[key]

    def compile_batch(self, arch: str, expressions: Sequence[str]) -> None:
        """Has one run of the compiler make PTX of several template instances, which `unit` then gives; CompileError."""
        self._compile(arch, *expressions)

    def _compile(self, arch: str, *expressions: str | None) -> None:
        from gridstride.compiler import compile_cuda

        compiled = compile_cuda(
            self._code,
            names=tuple(expression for expression in expressions if expression is not None),
            arch=arch,
            options=self._options,
            filename=self.filename,
            include_paths=self._include_paths,
            compiler=self._compiler,
        )
        self.take(compiled, *expressions)

    def take(self, compiled: Compiled, *expressions: str | None) -> None:
        """Has `unit` give this compilation for its architecture, of everything (None) and of template instances."""
        for expression in expressions:
            lowered = None if expression is None else compiled.names[expression]
            self._units[compiled.arch, expression] = CompiledUnit(
                compiled.ptx, lowered, warnings=compiled.warnings, types=compiled.types
            )

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """The compiler's, of all that was compiled so far, each once."""
        return tuple(dict.fromkeys(warning for unit in self._units.values() for warning in unit.warnings))

    def warn(self) -> None:
        """Hands those that are new to Python's warnings, as of the line outside of this package that led here."""
        from gridstride.compiler import CompileWarning

        for warning in self.warnings:
            if warning not in self._warned:
                self._warned.add(warning)
                warnings.warn(CompileWarning(warning), stacklevel=_depth_of_user())


class PtxSource:
    """PTX text."""

    text: str | None = None

    def __init__(self, ptx: str, *, filename: str) -> None:
        self.filename = filename
        self.signatures: Mapping[str, KernelSignature] = {}
        self._unit = CompiledUnit(ptx)

    def unit(self, arch: str, expression: str | None = None) -> CompiledUnit:
        """The text, whatever the chip; a device refuses what it cannot run."""
        return self._unit


def _depth_of_user() -> int:
    """The stack level of the first caller that is not of this package, as seen from the function that called this."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "gridstride":
        frame, level = frame.f_back, level + 1
    return level


def split_expression(name: str) -> tuple[str, str | None]:
    """Kernel name and template arguments of a name expression: "ns::tile<float, 16>" is ns::tile and <float, 16>."""
    match = _NAME.fullmatch(name.strip())
    return (match[1], match[2]) if match else (name, None)
