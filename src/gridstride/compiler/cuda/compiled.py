"""What a compilation of CUDA C++ gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gridstride.compiler.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class CompilerOutcome:
    """What one run of a compiler gave; without PTX where it failed."""

    diagnostics: tuple[Diagnostic, ...]
    ptx: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)

    @property
    def errors(self) -> list[Diagnostic]:
        """What made it fail."""
        return [message for message in self.diagnostics if message.severity == "error"]


@dataclass(frozen=True, slots=True)
class Compiled:
    """PTX as the compiler wrote it, but for the source's own name in .file, which is as given.

    `names` has the lowered name of every name expression asked for, and of each kernel that is neither a template nor
    overloaded, by its name in the source.
    """

    ptx: str
    names: Mapping[str, str]
    source: str
    filename: str
    arch: str
    warnings: tuple[Diagnostic, ...]
    types: Mapping[str, str] = field(default_factory=dict)
    """Mangled names that hold the parameter types of kernels whose own do not, by lowered name (see mangling.py)."""
