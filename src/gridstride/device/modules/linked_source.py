"""Several sources as one, whose symbols resolve across one another."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from gridstride.device.modules.sources import CompiledUnit, Source, split_expression
from gridstride.protocol import LinkInput

if TYPE_CHECKING:
    from gridstride.compiler import KernelSignature


class LinkedSource:
    """Sources whose symbols resolve across one another."""

    text: str | None = None

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = tuple(sources)
        self.filename = " + ".join(dict.fromkeys(source.filename for source in sources))

    @cached_property
    def signatures(self) -> Mapping[str, KernelSignature]:
        """The kernels of all sources."""
        return {name: s for source in reversed(self.sources) for name, s in source.signatures.items()}

    def unit(self, arch: str, expression: str | None = None) -> CompiledUnit:
        """The PTX of each; of the one that has the template, the instance asked for."""
        holder = None if expression is None else self._holder(expression)
        units = [(s, s.unit(arch, expression if s is holder else None)) for s in self.sources]
        pieces = tuple(p for s, u in units for p in (u.pieces or (LinkInput(u.ptx, s.filename, s.text),)))
        text = "\n".join(f"// {p.filename}\n{p.ptx}" for p in pieces)
        return CompiledUnit(text, next((u.lowered for s, u in units if s is holder), None), pieces)

    def spells(self, name: str) -> bool:
        """Whether some text has the name."""
        return any(_spells(source, name) for source in self.sources)

    def _holder(self, expression: str) -> Source:
        base = split_expression(expression)[0]
        with_signature = [s for s in self.sources if base in s.signatures]
        return (with_signature or [s for s in self.sources if _spells(s, base)])[0]


def _spells(source: Source, name: str) -> bool:
    if isinstance(source, LinkedSource):
        return source.spells(name)
    return source.text is not None and name in re.findall(r"\w+", source.text)
