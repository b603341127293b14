"""PTX text to a typed module: `parse(text) -> Module`. Lexer, parser, control-flow graph, liveness."""

from gridstride.virtual.ptx.module import PtxModule
from gridstride.virtual.ptx.parsing.parser import parse
from gridstride.virtual.ptx.syntax_errors import PtxError

__all__ = ["PtxError", "PtxModule", "parse"]
