"""Video instructions: scalar (vadd vsub vabsdiff vmin vmax vshl vshr vmad vset) and SIMD on halves and bytes.

Sums of two 32-bit numbers need 33 bits and a sign, so everything is computed in 64.
"""

from __future__ import annotations

from collections.abc import Callable

from gridstride.virtual.ir.builder import Builder, Value, constant
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.arithmetic.bits import field
from gridstride.virtual.lowering.program import Emitter
from gridstride.virtual.ptx.module import Instruction, Operand, Selected

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_SECOND = ("add", "min", "max")


# -- what all share ---------------------------------------------------------------------------------------------------
def _plain(operand: Operand) -> tuple[Operand, str]:
    """The register and the selector behind it."""
    return (operand.register, operand.selector) if isinstance(operand, Selected) else (operand, "")


def _read(cx: Lowering, ins: Instruction) -> tuple[list[Value], list[str]]:
    """a, b and c (0 where it is left out) as words, and the selectors of a and b."""
    plain = [_plain(o) for o in ins.operands[1:]]
    narrow = all(cx.uniform(o) for o, _ in plain)
    words = [(cx.scalar if narrow else cx.vector)(o, "b32") for o, _ in plain]
    if len(words) < 3:
        words.append(constant(words[0].type, 0))
    return words, [selector for _, selector in plain[:2]]


def _write(cx: Lowering, ins: Instruction, value: Value) -> None:
    register, _ = _plain(ins.operands[0])
    cx.set(register, value)


def _signs(ins: Instruction) -> tuple[bool, ...]:
    """Which of the instruction's types are signed."""
    return tuple(t == "s32" for t in ins.types)


def _part(cx: Lowering, selector: str) -> tuple[int, int]:
    """First bit and size of a .b0 … .b3, .h0, .h1 selector; the whole word without one."""
    if not selector:
        return 0, 32
    size = 8 if selector[0] == "b" else 16
    if len(selector) != 2 or int(selector[1]) * size >= 32:
        raise cx.unsupported(f"the selector `.{selector}` of `{cx.ins.name}`")
    return size * int(selector[1]), size


def _take(cx: Lowering, word: Value, selector: str, *, signed: bool) -> Value:
    b = cx.b
    start, size = _part(cx, selector)
    return b.resize(field(b, word, start, size, signed=signed), "i64", signed=signed)


def clamp(b: Builder, x: Value, size: int, *, signed: bool) -> Value:
    """A signed number limited to what `size` bits hold."""
    low, high = (-(1 << size - 1), (1 << size - 1) - 1) if signed else (0, (1 << size) - 1)
    return b.intrinsic("smin", b.intrinsic("smax", x, constant(x.type, low)), constant(x.type, high))


def _absolute_difference(b: Builder, x: Value, y: Value) -> Value:
    return b.op("sub", b.intrinsic("smax", x, y), b.intrinsic("smin", x, y))


def _average(b: Builder, x: Value, y: Value) -> Value:
    """Rounded away from zero upwards: (x + y + 1) >> 1, without the 1 for a negative sum."""
    total = b.op("add", x, y)
    positive = b.resize(b.compare("sge", total, constant(total.type, 0)), "i64")
    return b.op("ashr", b.op("add", total, positive), constant(total.type, 1))


_OPERATIONS: dict[str, Callable[[Builder, Value, Value], Value]] = {
    "add": lambda b, x, y: b.op("add", x, y),
    "sub": lambda b, x, y: b.op("sub", x, y),
    "absdiff": _absolute_difference,
    "min": lambda b, x, y: b.intrinsic("smin", x, y),
    "max": lambda b, x, y: b.intrinsic("smax", x, y),
    "avrg": _average,
}


def _comparison(cx: Lowering, ins: Instruction, x: Value, y: Value) -> Value:
    """1 where a vset's comparison holds."""
    name = next(m for m in ins.modifiers if m in _COMPARISONS)
    return cx.b.resize(cx.b.compare(name if name in ("eq", "ne") else f"s{name}", x, y), "i64")


# -- scalar -----------------------------------------------------------------------------------------------------------
def _finish(cx: Lowering, ins: Instruction, result: Value, word: Value, *, signed: bool) -> None:
    """Saturates, then combines with c or merges into it, as operands and modifiers say."""
    b = cx.b
    _, selector = _plain(ins.operands[0])
    start, size = _part(cx, selector)
    if "sat" in ins.modifiers:
        result = clamp(b, result, size, signed=signed)
    low = b.resize(result, "i32")
    if selector:
        mask = ((1 << size) - 1) << start
        moved = b.op("and", b.op("shl", low, constant(low.type, start)), constant(low.type, mask))
        low = b.op("or", moved, b.op("and", word, constant(word.type, ~mask)))
    else:
        low = _second(cx, ins, low, word, signed=signed)
    _write(cx, ins, low)


def _second(cx: Lowering, ins: Instruction, x: Value, word: Value, *, signed: bool) -> Value:
    name = ins.modifiers[-1] if ins.modifiers[-1] in _SECOND else None
    if name is None:
        return x
    return cx.b.op("add", x, word) if name == "add" else cx.b.intrinsic(f"{'s' if signed else 'u'}{name}", x, word)


def scalar(name: str) -> Emitter:
    """vadd, vsub, vabsdiff, vmin, vmax."""

    def lower(cx: Lowering, ins: Instruction) -> None:
        to, of_a, of_b = _signs(ins)
        (x, y, word), (first, second) = _read(cx, ins)
        x, y = _take(cx, x, first, signed=of_a), _take(cx, y, second, signed=of_b)
        _finish(cx, ins, _OPERATIONS[name](cx.b, x, y), word, signed=to)

    return lower


def shift(cx: Lowering, ins: Instruction) -> None:
    """vshl, vshr: amounts stop at 32 or wrap."""
    b = cx.b
    to, of_a, _ = _signs(ins)
    (x, y, word), (first, second) = _read(cx, ins)
    x, by = _take(cx, x, first, signed=of_a), _take(cx, y, second, signed=False)
    if "clamp" in ins.modifiers:
        by = b.intrinsic("umin", by, constant(by.type, 32))
    else:
        by = b.op("and", by, constant(by.type, 31))
    result = b.op("shl" if ins.opcode == "vshl" else "ashr", x, by)
    if not of_a:  # may use all 64 bits: no negative number, but one too large
        result = b.intrinsic("umin", result, constant(result.type, (1 << 33) - 1)) if "sat" in ins.modifiers else result
    _finish(cx, ins, result, word, signed=to)


def multiply_add(cx: Lowering, ins: Instruction) -> None:
    """vmad: a · b + c, plus one for .po, scaled down; every sum fits 64 bits."""
    b = cx.b
    _, of_a, of_b = _signs(ins)
    signed = of_a or of_b
    (x, y, word), (first, second) = _read(cx, ins)
    x, y = _take(cx, x, first, signed=of_a), _take(cx, y, second, signed=of_b)
    total = b.op("add", b.op("mul", x, y), b.resize(word, "i64", signed=signed))
    if "po" in ins.modifiers:
        total = b.op("add", total, constant(total.type, 1))
    scale = next((int(m[3:]) for m in ins.modifiers if m in ("shr7", "shr15")), 0)
    total = b.op("ashr" if signed else "lshr", total, constant(total.type, scale))
    if "sat" in ins.modifiers:
        most = constant(total.type, 2**32 - 1)
        total = clamp(b, total, 32, signed=True) if signed else b.intrinsic("umin", total, most)
    _write(cx, ins, b.resize(total, "i32"))


def compare(cx: Lowering, ins: Instruction) -> None:
    """vset."""
    of_a, of_b = _signs(ins)
    (x, y, word), (first, second) = _read(cx, ins)
    x, y = _take(cx, x, first, signed=of_a), _take(cx, y, second, signed=of_b)
    _finish(cx, ins, _comparison(cx, ins, x, y), word, signed=False)


# -- SIMD -------------------------------------------------------------------------------------------------------------
def _check_selector(cx: Lowering, ins: Instruction, selector: str, size: int, *, exact: bool) -> None:
    """A selector of a SIMD operand names a place for each element; that of the destination, which it keeps."""
    n, letter = 32 // size, "b" if size == 8 else "h"
    most = 2 * n if exact else n
    named = selector[1:]
    is_valid = (len(named) == n if exact else 1 <= len(named) <= n) and all(int(digit) < most for digit in named)
    if selector and (selector[0] != letter or not is_valid):
        raise cx.unsupported(f"the selector `.{selector}` of `{ins.name}`")


def _picks(selector: str, default: range) -> list[int]:
    """Which element of b:a each element comes from, lowest first."""
    return [int(digit) for digit in reversed(selector[1:])] if selector else list(default)


def _elements(cx: Lowering, pair: list[Value], picks: list[int], size: int, *, signed: bool) -> list[Value]:
    b, n = cx.b, 32 // size
    fields = [field(b, pair[p // n], size * (p % n), size, signed=signed) for p in picks]
    return [b.resize(f, "i64", signed=signed) for f in fields]


def simd(name: str, size: int) -> Emitter:
    """An operation on the 32 / size elements of a word; `set` compares."""
    n = 32 // size

    def lower(cx: Lowering, ins: Instruction) -> None:
        b = cx.b
        to, of_a, of_b = (False, *_signs(ins))[-3:]
        (x, y, word), (first, second) = _read(cx, ins)
        kept_as = _plain(ins.operands[0])[1]
        for selector in (first, second, kept_as):
            _check_selector(cx, ins, selector, size, exact=selector is not kept_as)
        left = _elements(cx, [x, y], _picks(first, range(n)), size, signed=of_a)
        right = _elements(cx, [x, y], _picks(second, range(n, 2 * n)), size, signed=of_b)
        results = []
        for u, v in zip(left, right, strict=True):
            result = _comparison(cx, ins, u, v) if name == "set" else _OPERATIONS[name](b, u, v)
            results.append(clamp(b, result, size, signed=to) if "sat" in ins.modifiers else result)
        _, mask = _plain(ins.operands[0])
        _write(cx, ins, _gather(cx, results, set(_picks(mask, range(n))), word, size, total=ins.modifiers[-1] == "add"))

    return lower


def _gather(cx: Lowering, results: list[Value], selected: set[int], word: Value, size: int, *, total: bool) -> Value:
    """The sum of the kept elements and c, or c with those elements replaced."""
    b = cx.b
    for i, result in enumerate(results):
        low = b.resize(result, "i32")
        if i not in selected:
            continue
        if total:
            word = b.op("add", word, low)
            continue
        mask = ((1 << size) - 1) << size * i
        moved = b.op("and", b.op("shl", low, constant(low.type, size * i)), constant(low.type, mask))
        word = b.op("or", moved, b.op("and", word, constant(word.type, ~mask)))
    return word
