"""Constant expressions: C's operators and precedence over .s64, .u64 and .f64 (PTX ISA, "Constant Expressions")."""

from __future__ import annotations

import re
import struct
from typing import TypeAlias

from gridstride.virtual.ptx.module import Immediate
from gridstride.virtual.ptx.parsing.cursor import Cursor, literal
from gridstride.virtual.ptx.syntax_errors import shown

# ("s" | "u" | "f", value): a signed or unsigned 64-bit integer, or a double.
Value: TypeAlias = tuple[str, int | float]

_LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"))
_PRECEDENCE = {op: level for level, ops in enumerate((*_LEVELS, ("*", "/", "%"))) for op in ops}
_INTEGER_ONLY = frozenset(["%", "<<", ">>", "&", "|", "^"])
_TRUTH = frozenset(["<", "<=", ">", ">=", "==", "!=", "&&", "||"])
_DEPTH = 64  # nested parentheses and unary operators: what a person writes, well inside Python's own stack
_DECIMAL = re.compile(r"(\d+\.\d*|\.\d+|\d+)([eE][+-]?\d+)?")
_EXACT = re.compile(r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})")
_M64 = 2**64 - 1


def immediate(cursor: Cursor) -> Immediate:
    """Read a constant operand: an exact single `0f3F800000`, or an expression."""
    exact = _EXACT.fullmatch(cursor.token)
    if exact and exact[1]:
        cursor.pos += 1
        return Immediate("f32", int(exact[1], 16))
    return as_immediate(expression(cursor))


def as_immediate(value: Value) -> Immediate:
    """The operand that a constant value makes."""
    kind, number = value
    if kind == "f":
        return Immediate("f64", struct.unpack("<Q", struct.pack("<d", number))[0])
    return Immediate("int", int(number))


def integer(cursor: Cursor, what: str) -> int:
    """Read an expression that must be an integer: the `what`."""
    start = cursor.pos
    kind, value = expression(cursor)
    if kind == "f":
        raise cursor.error(f"the {what} must be an integer", start)
    return int(value)


def expression(cursor: Cursor, depth: int = 0) -> Value:
    """Read an expression, with `?:`."""
    condition = _binary(cursor, 0, depth)
    if not cursor.accept("?"):
        return condition
    yes = expression(cursor, _deeper(cursor, depth))
    cursor.expect(":", "of '?'")
    no = expression(cursor, _deeper(cursor, depth))
    return yes if condition[1] else no


def continued(cursor: Cursor, left: Value) -> Value:
    """Read what may follow a value that is already read, as the `+4` of `sym+4`, additive operators only."""
    while cursor.token in ("+", "-"):
        op, at = cursor.take(), cursor.pos - 1
        left = _apply(cursor, at, op, left, _binary(cursor, _PRECEDENCE["*"], 0))
    return left


def _binary(cursor: Cursor, lowest: int, depth: int) -> Value:
    left = _unary(cursor, depth)
    while (level := _PRECEDENCE.get(cursor.token, -1)) >= lowest:
        op, at = cursor.take(), cursor.pos - 1
        left = _apply(cursor, at, op, left, _binary(cursor, level + 1, _deeper(cursor, depth)))
    return left


def _unary(cursor: Cursor, depth: int) -> Value:
    token, at = cursor.token, cursor.pos
    if token in ("+", "-", "!", "~"):
        cursor.pos += 1
        kind, value = _unary(cursor, _deeper(cursor, depth))
        return _apply_unary(cursor, at, token, kind, value)
    if token != "(":
        return _primary(cursor)
    cursor.pos += 1
    if cursor.token in (".s64", ".u64"):
        to = cursor.take()[1]
        cursor.expect(")", "after the type of a cast")
        return _cast(cursor, at, to, _unary(cursor, _deeper(cursor, depth)))
    value_in = expression(cursor, _deeper(cursor, depth))
    cursor.expect(")")
    return value_in


def _primary(cursor: Cursor) -> Value:
    token = cursor.token
    value = number(token)
    if value is None:
        raise cursor.error(_no_constant(token))
    cursor.pos += 1
    return value


def _no_constant(token: str) -> str:
    if token[:2] in ("0f", "0F") and _EXACT.fullmatch(token):
        return f"the single-precision constant {token} cannot be part of an expression"
    if token[:1].isdigit():
        return f"malformed number {shown(token)}"
    return f"expected an operand, found {shown(token)}"


def number(token: str) -> Value | None:
    """The value of one literal token, or None where it is none (or an exact single)."""
    if token == "WARP_SZ":
        return "s", 32
    value = literal(token)
    if value is not None:
        signed = value < 2**63 and token[-1] not in "uU"
        return ("s" if signed else "u", value) if value <= _M64 else None
    if (exact := _EXACT.fullmatch(token)) and exact[2]:
        return "f", struct.unpack("<d", struct.pack("<Q", int(exact[2], 16)))[0]
    if len(token) < 400 and ("." in token or "e" in token or "E" in token) and _DECIMAL.fullmatch(token):
        return "f", float(token)
    return None


def _apply_unary(cursor: Cursor, at: int, op: str, kind: str, value: int | float) -> Value:
    if op == "!":
        return "s", int(not value)
    if op == "~":
        if kind == "f":
            raise cursor.error("'~' needs an integer", at)
        return _wrap("u", ~int(value))
    if op == "+":
        return kind, value
    return ("f", -value) if kind == "f" else _wrap(kind, -int(value))


def _cast(cursor: Cursor, at: int, to: str, value: Value) -> Value:
    try:
        return _wrap(to, int(value[1]))
    except (ValueError, OverflowError):
        raise cursor.error(f"{value[1]} has no integer value", at) from None


def _apply(cursor: Cursor, at: int, op: str, left: Value, right: Value) -> Value:
    kind = "f" if "f" in (left[0], right[0]) else "u" if "u" in (left[0], right[0]) else "s"
    if kind == "f" and op in _INTEGER_ONLY:
        raise cursor.error(f"{op!r} needs integers", at)
    if op in ("/", "%") and not right[1]:
        raise cursor.error("division by zero in a constant expression", at)
    if op in ("<<", ">>"):
        return _shift(cursor, at, op, left, int(right[1]))
    a, b = _convert(kind, left), _convert(kind, right)
    if op in _TRUTH:
        return "s", _compare(op, a, b)
    if kind == "f":
        return "f", _arithmetic(op, float(a), float(b))
    return _wrap(kind, _bits(op, int(a), int(b)))


def _convert(kind: str, value: Value) -> int | float:
    return float(value[1]) if kind == "f" else _wrap(kind, int(value[1]))[1]


def _shift(cursor: Cursor, at: int, op: str, left: Value, by: int) -> Value:
    if not 0 <= by < 64:
        raise cursor.error(f"shift by {by} in a constant expression: the width is 64", at)
    return _wrap(left[0], int(left[1]) << by if op == "<<" else int(left[1]) >> by)


def _compare(op: str, a: float, b: float) -> int:
    if op in ("&&", "||"):
        return int(bool(a) and bool(b)) if op == "&&" else int(bool(a) or bool(b))
    order = {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}
    return int(order[op])


def _arithmetic(op: str, a: float, b: float) -> float:
    return a + b if op == "+" else a - b if op == "-" else a * b if op == "*" else a / b


def _bits(op: str, a: int, b: int) -> int:
    if op in ("/", "%"):
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)  # C truncates towards zero
        return quotient if op == "/" else a - quotient * b
    if op in ("&", "|", "^"):
        return a & b if op == "&" else a | b if op == "|" else a ^ b
    return a + b if op == "+" else a - b if op == "-" else a * b


def _wrap(kind: str, value: int) -> Value:
    value &= _M64
    return kind, value - 2**64 if kind == "s" and value >> 63 else value


def _deeper(cursor: Cursor, depth: int) -> int:
    if depth >= _DEPTH:
        raise cursor.error(f"constant expression nested more than {_DEPTH} deep")
    return depth + 1
