"""Expressions over a problem's sizes as C++ and as Python, and the one size that an array's extent tells."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from gridstride.export.export_errors import ExportError
from gridstride.judge.symbols import ExpressionError, evaluate, names

_PLAIN = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}


def as_cpp(text: str, spelled: Mapping[str, str]) -> str:
    """`text` in 64-bit C++, with `spelled` for each size; ExportError for a fraction that nothing rounds."""
    return _written(ast.parse(text.strip(), mode="eval").body, text, spelled, "/")


def as_python(text: str, spelled: Mapping[str, str]) -> str:
    """`text` in Python's whole numbers."""
    return _written(ast.parse(text.strip(), mode="eval").body, text, spelled, "//")


def _written(node: ast.expr, text: str, spelled: Mapping[str, str], floor: str) -> str:
    def inner(node: ast.expr) -> str:
        return _written(node, text, spelled, floor)

    match node:
        case ast.Constant(value=int(number)):
            return str(number)
        case ast.Name(id=name):
            return spelled[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return f"-{inner(operand)}"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _PLAIN:
            return f"({inner(left)} {_PLAIN[type(op)]} {inner(right)})"
        case ast.BinOp(left=left, op=ast.FloorDiv() | ast.Mod() as op, right=right):  # of numbers that are not negative
            return f"({inner(left)} {floor if isinstance(op, ast.FloorDiv) else '%'} {inner(right)})"
        case ast.Call(func=ast.Name(id="ceil"), args=[ast.BinOp(left=left, op=ast.Div(), right=right)]):
            return f"ceil_div({inner(left)}, {inner(right)})"
        case ast.Call(func=ast.Name(id="ceil"), args=[argument]):
            return inner(argument)
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=arguments):
            return _of_two(
                f"{'std::' if floor == '/' else ''}{name}", [inner(argument) for argument in arguments], floor
            )
    raise ExportError(f"{text} cannot be written in C++: a fraction must stand in ceil(…)")


def _of_two(name: str, arguments: list[str], floor: str) -> str:
    """std::min takes two of one type."""
    first, *remaining = arguments
    if not remaining:
        return first
    kind = "<int64_t>" if floor == "/" else ""
    return f"{name}{kind}({first}, {_of_two(name, remaining, floor)})"


def unknown_in(extent: str, defined: set[str]) -> str | None:
    """The one size that `extent` has beside those that are known; None where there is none, or more than one."""
    undefined = names(extent) - defined
    return next(iter(undefined)) if len(undefined) == 1 else None


def solved(extent: str, size: str) -> tuple[int, int] | None:
    """(a, b) where extent = a * size + b, with numbers alone; None where it is something else."""
    if names(extent) != {size}:
        return None
    try:
        at = [evaluate(extent, {size: value}) for value in (0, 1, 2, 77)]
    except ExpressionError:
        return None
    slope = at[1] - at[0]
    straight = at[2] == at[0] + 2 * slope and at[3] == at[0] + 77 * slope
    return (slope, at[0]) if straight and slope > 0 else None
