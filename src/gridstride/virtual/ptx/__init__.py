"""PTX text to a typed module: `parse(text) -> Module`. Lexer, parser, control-flow graph, liveness."""

from gridstride.virtual.ptx.errors import PtxError
from gridstride.virtual.ptx.module import Module
from gridstride.virtual.ptx.parser import parse

__all__ = ["Module", "PtxError", "parse"]
