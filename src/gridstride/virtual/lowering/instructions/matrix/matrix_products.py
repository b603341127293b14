"""What a tile's function computes: shapes, types and the order of its sums, and the functions' names.

Hopper's steps, from the machine code that ptxas makes (`ptxas -arch=sm_90a`, nvdisasm): one HMMA per tile but for
- 8-bit floats, which become halves: the first HMMA takes elements 0 and 1 of each register, the next 2 and 3, both
  start from zero, and C is added at the end by an ordinary addition;
- wmma's tf32, whose k = 8 are two steps of 4.
"""

from __future__ import annotations

from dataclasses import dataclass

from gridstride.virtual.lowering.instructions.matrix.matrix_formats import FORMATS, ElementFormat
from gridstride.virtual.lowering.instructions.matrix.matrix_fragments import Tile

DIGITS = 25
"""Digits behind the point that a term keeps when it is aligned."""


@dataclass(frozen=True, slots=True)
class Product:
    """D = A · B + C of one tile. `rule`: satfinite, and, xor or nothing; `split`: k of one step, where that is less."""

    rows: int
    k: int
    a: str
    b: str
    c: str
    d: str
    rule: str = ""
    split: int = 0

    @property
    def name(self) -> str:
        """The function's name."""
        words = (f"gs_mma_{self.rows}x8x{self.k}", self.a, self.b, self.c, self.d, self.rule, self.split or "")
        return "_".join(str(w) for w in words if w)

    @property
    def tile(self) -> Tile:
        return Tile(self.rows, self.k, self.formats[0].bits)

    @property
    def formats(self) -> tuple[ElementFormat, ElementFormat]:
        """The types of A and B, which have one width."""
        return FORMATS[self.a], FORMATS[self.b]

    @property
    def eight(self) -> bool:
        """True for 8-bit floats."""
        return self.a in ("e4m3", "e5m2")

    @property
    def digits(self) -> int:
        """Digits behind the point that a term keeps when it is aligned."""
        return DIGITS

    @property
    def halves(self) -> bool:
        """True where every step rounds to f16."""
        return self.c == self.d == "f16"

    @property
    def steps(self) -> list[list[int]]:
        """The indices of k that are summed together, in order."""
        ks = range(self.k)
        if self.eight:
            return [[k for k in ks if k % 4 // 2 == part] for part in range(2)]
        size = self.split or self.k
        return [list(ks[i : i + size]) for i in range(0, self.k, size)]
