"""Kernel entries of a PTX text and the layout of their parameters.

A scan of the `.entry` headers only, so that PTX which just the driver understands loads on a physical GPU.
"""

from __future__ import annotations

import re
from math import prod

from gridstride.protocol import ParameterLayout

_ENTRY = re.compile(r"\.entry\s+([\w$%]+)\s*(?:\(([^)]*)\))?")
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+(?P<outer>\d+)\s+)?\.(?P<type>[a-z]\w*)"
    r"(?P<pointer>\s+\.ptr(?:\s+\.(?:global|shared|const|local))?(?:\s+\.align\s+\d+)?)?"
    r"(?:\s+\.align\s+(?P<inner>\d+))?\s+[\w$%]+(?P<dimensions>(?:\s*\[\s*\d+\s*\])*)"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_BITS = re.compile(r"\d+")


def entry_parameters(ptx: str) -> dict[str, tuple[ParameterLayout, ...]]:
    """Each `.entry` of `ptx` with its parameters at their PTX offsets (each at its own alignment, in order)."""
    return {match[1]: _layout(match[2] or "") for match in _ENTRY.finditer(_COMMENT.sub("", ptx))}


def _layout(declarations: str) -> tuple[ParameterLayout, ...]:
    layouts, offset = [], 0
    for match in _PARAMETER.finditer(declarations):
        size, spelled = _size(match["type"], match["dimensions"])
        align = int(match["outer"] or match["inner"] or _size(match["type"], "")[0])
        offset = -(-offset // align) * align
        layouts.append(ParameterLayout(offset, size, align, spelled, match["pointer"] is not None))
        offset += size
    return tuple(layouts)


def _size(kind: str, dimensions: str) -> tuple[int, str]:
    bits = _BITS.search(kind)
    element = int(bits[0]) // 8 if bits else 8  # texref, surfref and samplerref are 64-bit handles
    counts = [int(count) for count in _BITS.findall(dimensions)]
    return element * prod(counts), f"{kind}[{prod(counts)}]" if counts else kind
