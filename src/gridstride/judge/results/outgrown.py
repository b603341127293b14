"""Variables that the timed grid would write past the end of, as far as smaller grids foretell it.

An array beside the kernel, such as the flags of a look-back, has a fixed size, and grids that are run here may fit it
where the timed one does not. Where each block takes the next few bytes, the writes end on a straight line over the
number of blocks; only a line that every grid lies on is followed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gridstride.judge.cases.path_cases import KernelPath
from gridstride.judge.verdict import Finding

_GRIDS = 5  # that must lie on one line
_NEARLY = 0.75  # of a grid of which some blocks were watched, the last ones may be missing


@dataclass(frozen=True, slots=True)
class _Line:
    """Bytes that are written by a grid of so many blocks."""

    bytes_per_block: int
    more: int

    def at(self, blocks: int) -> int:
        """Where the writes of a grid end."""
        return self.bytes_per_block * blocks + self.more


def outgrown(
    grids: Sequence[tuple[int, ...]], paths: Sequence[KernelPath], timed: tuple[int, ...], size: str
) -> tuple[Finding, ...]:
    """A finding for each variable that is too small for the grid of the timed size, `size` in words; `paths` are of the
    runs of `grids`.
    """
    runs = [(math.prod(grid), path) for grid, path in zip(grids, paths, strict=True) if path.outcomes]
    sizes = {use.name: use.size for path in paths for use in path.variables}
    findings = []
    for name, held in sizes.items():
        line = _line([(blocks, _written(path, name), path.exact) for blocks, path in runs])
        if line and (needed := line.at(math.prod(timed))) > held:
            findings.append(_finding(name, held, line, math.prod(timed), needed, size))
    return tuple(findings)


def _written(path: KernelPath, name: str) -> int:
    return next((use.written for use in path.variables if use.name == name), 0)


def _line(runs: Sequence[tuple[int, int, bool]]) -> _Line | None:
    """The line that ends of writes lie on, given as blocks, bytes, and whether all blocks were watched."""
    ends: Mapping[int, set[int]] = {blocks: set() for blocks, _, exact in runs if exact}
    for blocks, end, exact in runs:
        if exact:
            ends[blocks].add(end)
    if len(ends) < _GRIDS or any(len(values) > 1 for values in ends.values()):
        return None
    (first, (low,)), (last, (high,)) = ((blocks, [*ends[blocks]]) for blocks in (min(ends), max(ends)))
    step, remainder = divmod(high - low, last - first)
    line = _Line(step, low - step * first)
    fits = remainder == 0 and step > 0 and all({line.at(blocks)} == end for blocks, end in ends.items())
    return line if fits and all(exact or end > _NEARLY * line.at(blocks) for blocks, end, exact in runs) else None


def _finding(name: str, held: int, line: _Line, blocks: int, needed: int, size: str) -> Finding:
    more = f" and {line.more:,} more" if line.more > 0 else ""
    message = (
        f"{name} has {held:,} bytes, and each block writes the next {line.bytes_per_block:,} of them{more}: the "
        f"{blocks:,} blocks "
        f"of the timed size ({size}) would write {needed:,}. No run here has so many: seen in all the smaller grids. "
        "Make the array as large as the largest grid needs, or have blocks share its elements"
    )
    return Finding("out_of_bounds", message)
