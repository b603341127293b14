"""How a register varies over the lanes of a warp: as a sum of scalars times known per-lane integers, or freely.

A `Affine` value is, for lane i,  base + k[i] + Σ u_j · k_j[i] + scale · extend(inner[i]),  modulo 2^width, with k known
when the kernel is compiled and the scalars only when it runs. Uniform values are the case where nothing depends on i.
Addresses in this form need no gather. The same functions serve the analysis (scalars are None) and the code generator
(scalars are LLVM values), so the two cannot disagree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

from gridstride.virtual.abi.hardware_limits import LANES

Lanes = tuple[int, ...]
ZERO: Lanes = (0,) * LANES
LANE: Lanes = tuple(range(LANES))
ANY_ALIGN = 1 << 63
MAX_TERMS = 2


class Scalars(Protocol):
    """Arithmetic on the scalars of a linear form."""

    def constant(self, width: int, value: int) -> Any: ...
    def op(self, name: str, width: int, a: Any, b: Any) -> Any: ...
    def extend(self, a: Any, signed: bool) -> Any: ...
    def truncate(self, a: Any) -> Any: ...


class NoScalars:
    """The analysis' scalars: nothing is computed."""

    def constant(self, width: int, value: int) -> Any:
        return None

    def op(self, name: str, width: int, a: Any, b: Any) -> Any:
        return None

    def extend(self, a: Any, signed: bool) -> Any:
        return None

    def truncate(self, a: Any) -> Any:
        return None


@dataclass(frozen=True, slots=True)
class Extended:
    """scale · extend(inner), inner of 32 bits: kept apart because the extension does not commute with wrap-around."""

    signed: bool
    scale: int
    inner: Affine


@dataclass(frozen=True, slots=True)
class Affine:
    """See the module. `align` divides base (a power of two); `top`, where known, bounds all lanes: 0 ≤ value ≤ top."""

    width: int
    base: Any = None
    k: Lanes = ZERO
    terms: tuple[tuple[Lanes, Any], ...] = ()
    extended: Extended | None = None
    align: int = 1
    top: int | None = None

    @property
    def uniform(self) -> bool:
        return self.k == ZERO and not self.terms and self.extended is None

    @property
    def key(self) -> tuple[Any, ...]:
        """What must agree for two definitions of a register to share one form."""
        e = self.extended
        return (self.width, self.k, tuple(k for k, _ in self.terms), e and (e.signed, e.scale, e.inner.key))

    @property
    def disjoint(self) -> bool:
        """Base and k share no bits, so bitwise operations act on each alone."""
        return not self.terms and self.extended is None and all(0 <= x < self.align for x in self.k)

    def scalars(self) -> list[Any]:
        """The run-time scalars in a fixed order; `rebuild` takes them back."""
        own = [self.base, *(u for _, u in self.terms)]
        return own + (self.extended.inner.scalars() if self.extended else [])

    def widths(self) -> list[int]:
        own = [self.width] * (1 + len(self.terms))
        return own + (self.extended.inner.widths() if self.extended else [])

    def rebuild(self, scalars: list[Any]) -> Affine:
        """The same form over other scalars."""
        used = 1 + len(self.terms)
        terms = tuple((k, u) for (k, _), u in zip(self.terms, scalars[1:used], strict=True))
        e = self.extended
        extended = replace(e, inner=e.inner.rebuild(scalars[used:])) if e else None
        return replace(self, base=scalars[0], terms=terms, extended=extended)


def _signed(value: int, width: int) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def _low_bit(value: int) -> int:
    return value & -value if value else ANY_ALIGN


def _bounded(top: int | None, width: int) -> int | None:
    return top if top is not None and top < 1 << (width - 1) else None


def fixed(s: Scalars, width: int, value: int) -> Affine:
    """A known integer, the same in all lanes."""
    value = _signed(value, width)
    top = value if value >= 0 else None
    return Affine(width, s.constant(width, value), align=_low_bit(value), top=top)


def add(s: Scalars, a: Affine, b: Affine) -> Affine | None:
    """a + b; None where the sum has no such form."""
    if a.extended and b.extended:
        return None
    terms = dict(a.terms)
    for k, u in b.terms:
        terms[k] = s.op("add", a.width, terms[k], u) if k in terms else u
    if len(terms) > MAX_TERMS:
        return None
    return Affine(
        a.width,
        s.op("add", a.width, a.base, b.base),
        _sum(a.k, b.k, a.width),
        tuple(sorted(terms.items(), key=lambda item: item[0])),
        a.extended or b.extended,
        min(a.align, b.align),
        _bounded(a.top + b.top, a.width) if a.top is not None and b.top is not None else None,
    )


def _sum(a: Lanes, b: Lanes, width: int) -> Lanes:
    if b == ZERO:
        return a
    return b if a == ZERO else tuple(_signed(x + y, width) for x, y in zip(a, b, strict=True))


def scale(s: Scalars, a: Affine, c: int) -> Affine:
    """a · c for a known integer c."""
    c = _signed(c, a.width)
    if c == 0:
        return fixed(s, a.width, 0)
    if c == 1:
        return a
    factor = s.constant(a.width, c)
    e = a.extended
    return Affine(
        a.width,
        s.op("mul", a.width, a.base, factor),
        a.k if a.k == ZERO else tuple(_signed(x * c, a.width) for x in a.k),
        tuple((k, s.op("mul", a.width, u, factor)) for k, u in a.terms),
        replace(e, scale=_signed(e.scale * c, a.width)) if e else None,
        min(a.align * _low_bit(c), ANY_ALIGN),
        _bounded(a.top * c, a.width) if a.top is not None and c > 0 else None,
    )


def subtract(s: Scalars, a: Affine, b: Affine) -> Affine | None:
    """a - b."""
    return add(s, a, scale(s, b, -1))


def multiply(s: Scalars, a: Affine, u: Affine) -> Affine | None:
    """a · u for a uniform u known only at run time."""
    if a.terms or a.extended:
        return None
    base = s.op("mul", a.width, a.base, u.base)
    top = _bounded(a.top * u.top, a.width) if a.top is not None and u.top is not None else None
    align = min(a.align * u.align, ANY_ALIGN)
    return Affine(a.width, base, ZERO, () if a.k == ZERO else ((a.k, u.base),), None, align, top)


def bit_and(s: Scalars, a: Affine, c: int) -> Affine | None:
    """a & c for a known c."""
    if not a.disjoint:
        return None
    c &= (1 << a.width) - 1
    positive = c < 1 << (a.width - 1)
    top = min(a.top, c) if a.top is not None and positive else c if positive else a.top
    k = tuple(x & c for x in a.k)
    if c < a.align:  # nothing of the base is left
        return Affine(a.width, s.constant(a.width, 0), k, (), None, ANY_ALIGN, top)
    base = s.op("and", a.width, a.base, s.constant(a.width, _signed(c, a.width)))
    return Affine(a.width, base, k, (), None, max(a.align, _low_bit(c)), top)


def bit_or(s: Scalars, a: Affine, c: int) -> Affine | None:
    """a | c for a known c that does not touch the bits of k."""
    c &= (1 << a.width) - 1
    if not a.disjoint or any(x & c for x in a.k):
        return None
    base = s.op("or", a.width, a.base, s.constant(a.width, _signed(c, a.width)))
    top = _bounded(a.top | c, a.width) if a.top is not None else None
    return Affine(a.width, base, a.k, (), None, min(a.align, _low_bit(c)), top)


def shift_right(s: Scalars, a: Affine, by: int, signed: bool) -> Affine | None:
    """a >> by, logical, or arithmetic where a is known not to be negative."""
    if not a.disjoint or (signed and a.top is None) or by >= a.width:
        return None
    k, top = tuple(x >> by for x in a.k), a.top >> by if a.top is not None else None
    if top == 0:
        return fixed(s, a.width, 0)
    base = s.op("lshr", a.width, a.base, s.constant(a.width, by))
    return Affine(a.width, base, k, (), None, max(1, a.align >> by), top)


def extend(s: Scalars, a: Affine, signed: bool) -> Affine | None:
    """A 32-bit value as 64 bits."""
    if a.uniform or (a.top is not None and not a.terms):
        # No lane wraps, so the extension can be taken of the base alone.
        align = a.align if a.top is not None or a.uniform else 1
        return Affine(64, s.extend(a.base, signed), a.k, (), None, min(align, 1 << 31), a.top)
    return Affine(64, s.constant(64, 0), ZERO, (), Extended(signed, 1, a), ANY_ALIGN, None)


def truncate(s: Scalars, a: Affine) -> Affine | None:
    """The low 32 bits of a 64-bit value."""
    terms = tuple((k, s.truncate(u)) for k, u in a.terms)
    k = a.k if a.k == ZERO else tuple(_signed(x, 32) for x in a.k)
    low = Affine(32, s.truncate(a.base), k, terms, None, min(a.align, ANY_ALIGN), _bounded(a.top, 32))
    return add(s, low, scale(s, a.extended.inner, a.extended.scale)) if a.extended else low


def join(a: Affine, b: Affine) -> Affine | None:
    """What is known of a register that holds a here and b there; None where the forms differ."""
    if a.key != b.key:
        return None
    # A bound that moves is given up at once: loop counters would otherwise climb for ever.
    inner = join(a.extended.inner, b.extended.inner) if a.extended and b.extended else None
    extended = replace(a.extended, inner=inner) if a.extended and inner else a.extended
    return replace(a, extended=extended, align=min(a.align, b.align), top=a.top if a.top == b.top else None)
