"""Video instructions against the ISA's own description in Python's integers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from ptx_programs import against, edges

Model = Callable[[int, int, int], int]
SCALAR: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "absdiff": lambda x, y: abs(x - y), "min": min, "max": max,
}  # fmt: skip
SIMD = SCALAR | {"avrg": lambda x, y: (x + y + (x + y >= 0)) >> 1}
COMPARISONS: dict[str, Callable[[int, int], int]] = {
    "eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y, "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y,
}  # fmt: skip
SIGNS = list(product(("u32", "s32"), repeat=3))


def operands() -> list[np.ndarray]:
    values = np.array([*edges(np.uint32)[::2], 0x80FF7F01, 0x01807FFE, 0x7FFF8000, 0xFFFF0001], np.uint32)
    x, y = (v.ravel() for v in np.meshgrid(values, values))
    return [x, y, np.resize(np.roll(values, 3), len(x))]


def part(word: int, selector: str, of: str) -> int:
    """A byte, half or the word, extended."""
    size = {"": 32, "b": 8, "h": 16}[selector[:1]]
    value = word >> size * int(selector[1:] or 0) & ((1 << size) - 1)
    return value - (1 << size) if of == "s32" and value >> size - 1 else value


def clamp(value: int, size: int, to: str) -> int:
    low, high = (-(1 << size - 1), (1 << size - 1) - 1) if to == "s32" else (0, (1 << size) - 1)
    return max(low, min(value, high))


def merge(value: int, selector: str, word: int) -> int:
    size = 8 if selector[0] == "b" else 16
    mask = (1 << size) - 1 << size * int(selector[1])
    return word & ~mask | value << size * int(selector[1]) & mask


def second(name: str, value: int, word: int, to: str) -> int:
    """The optional second operation, on 32-bit numbers of the destination's type."""
    pair = part(value & 0xFFFFFFFF, "", to), part(word, "", to)
    return {"add": sum, "min": min, "max": max}[name](pair)


@pytest.mark.parametrize("name", SCALAR)
def test_scalar_operations(name: str) -> None:
    operation, models = SCALAR[name], {}
    for to, a, b in SIGNS:
        types = f"v{name}.{to}.{a}.{b}"

        def value(x: int, y: int, of: tuple[str, str] = (a, b), s: tuple[str, str] = ("", "")) -> int:
            return operation(part(x, s[0], of[0]), part(y, s[1], of[1]))

        models[f"{types} {{d}}, {{a}}, {{b}};"] = lambda x, y, c, v=value: v(x, y)
        models[f"{types}.sat {{d}}, {{a}}, {{b}};"] = lambda x, y, c, v=value, to=to: clamp(v(x, y), 32, to)
        models[f"{types} {{d}}, {{a}}.b3, {{b}}.h1;"] = lambda x, y, c, v=value: v(x, y, s=("b3", "h1"))
        for op in ("add", "min", "max"):
            text = f"{types}.sat.{op} {{d}}, {{a}}.h0, {{b}}.b1, {{c}};"
            models[text] = lambda x, y, c, v=value, op=op, to=to: second(
                op, clamp(v(x, y, s=("h0", "b1")), 32, to), c, to
            )
        models[f"{types} {{d}}.b2, {{a}}, {{b}}, {{c}};"] = lambda x, y, c, v=value: merge(v(x, y), "b2", c)
        models[f"{types}.sat {{d}}.h1, {{a}}, {{b}}, {{c}};"] = lambda x, y, c, v=value, to=to: merge(
            clamp(v(x, y), 16, to), "h1", c
        )
        models[f"{types}.sat {{d}}.b0, {{a}}, {{b}}, {{c}};"] = lambda x, y, c, v=value, to=to: merge(
            clamp(v(x, y), 8, to), "b0", c
        )
    against(models, operands(), np.uint32)


def test_shifts() -> None:
    amounts = np.array([0, 1, 8, 31, 32, 33, 255, 2**32 - 1], np.uint32)
    values = np.array([*edges(np.uint32), 0x80FF7F01], np.uint32)
    x, y = (v.ravel() for v in np.meshgrid(values, amounts))
    models: dict[str, Model] = {}
    for to, a in product(("u32", "s32"), repeat=2):
        for mode, limit in (("clamp", lambda n: min(n, 32)), ("wrap", lambda n: n & 31)):
            for name in ("shl", "shr"):

                def value(v: int, n: int, of: str = a, left: bool = name == "shl", limit=limit) -> int:  # type: ignore[no-untyped-def]
                    return part(v, "", of) << limit(n) if left else part(v, "", of) >> limit(n)

                head = f"v{name}.{to}.{a}.u32"
                models[f"{head}.{mode} {{d}}, {{a}}, {{b}};"] = lambda x, y, c, v=value: v(x, y)
                limited = f"{head}.sat.{mode} {{d}}, {{a}}, {{b}};"
                models[limited] = lambda x, y, c, v=value, to=to: clamp(v(x, y), 32, to)
                models[f"{head}.{mode}.add {{d}}, {{a}}, {{b}}, {{c}};"] = lambda x, y, c, v=value: v(x, y) + c
    against(models, [x, y, x[::-1].copy()], np.uint32)


def test_multiply_add() -> None:
    models: dict[str, Model] = {}
    for to, a, b in SIGNS:
        final = "s32" if "s32" in (a, b) else "u32"
        for scale, by in (("", 0), (".shr7", 7), (".shr15", 15)):
            for po in (0, 1):

                def value(x: int, y: int, c: int, of=(a, b), final=final, by=by, po=po) -> int:  # type: ignore[no-untyped-def]
                    return part(x, "", of[0]) * part(y, "", of[1]) + part(c, "", final) + po >> by

                head = f"vmad.{to}.{a}.{b}{'.po' if po else ''}"
                models[f"{head}{scale} {{d}}, {{a}}, {{b}}, {{c}};"] = value
                models[f"{head}.sat{scale} {{d}}, {{a}}, {{b}}, {{c}};"] = lambda x, y, c, v=value, f=final: clamp(
                    v(x, y, c), 32, f
                )
    against(models, operands(), np.uint32)


def test_comparisons() -> None:
    models: dict[str, Model] = {}
    for (name, holds), a, b in product(COMPARISONS.items(), ("u32", "s32"), ("u32", "s32")):

        def value(x: int, y: int, of=(a, b), holds=holds) -> int:  # type: ignore[no-untyped-def]
            return int(holds(part(x, "", of[0]), part(y, "", of[1])))

        head = f"vset.{a}.{b}.{name}"
        models[f"{head} {{d}}, {{a}}, {{b}};"] = lambda x, y, c, v=value: v(x, y)
        models[f"{head}.add {{d}}, {{a}}, {{b}}, {{c}};"] = lambda x, y, c, v=value: v(x, y) + c
        models[f"{head} {{d}}.h1, {{a}}, {{b}}, {{c}};"] = lambda x, y, c, v=value: merge(v(x, y), "h1", c)
    against(models, operands(), np.uint32)


# -- SIMD -------------------------------------------------------------------------------------------------------------
Three = tuple[str, str, str]


def simd_model(operation: Callable[[int, int], int], size: int, types: Three, selectors: Three, how: str) -> Model:
    """`selectors`: digits of the destination's mask and of both sources, highest first. `how`: "", sat or add."""
    n = 32 // size
    letter = "b" if size == 8 else "h"

    def model(x: int, y: int, c: int) -> int:
        def element(place: int, of: str) -> int:
            return part((x, y)[place // n], f"{letter}{place % n}", of)

        left = [element(int(d), types[1]) for d in reversed(selectors[1])]
        right = [element(int(d), types[2]) for d in reversed(selectors[2])]
        results = [int(operation(p, q)) for p, q in zip(left, right, strict=True)]
        for i, result in enumerate(results):
            if str(i) not in selectors[0]:
                continue
            if how == "add":
                c += result
            else:
                c = merge(clamp(result, size, types[0]) if how else result, f"{letter}{i}", c)
        return c

    return model


@pytest.mark.parametrize("name", SIMD)
@pytest.mark.parametrize("size", [8, 16])
def test_simd_operations(name: str, size: int) -> None:
    letter, default = ("b", ("3210", "3210", "7654")) if size == 8 else ("h", ("10", "10", "32"))
    mask, first, other = ("20", "7040", "1155") if size == 8 else ("1", "31", "02")
    models: dict[str, Model] = {}
    for types in SIGNS:
        for how in ("", "sat", "add"):
            head = f"v{name}{32 // size}.{'.'.join(types)}{'.' if how else ''}{how}"
            models[f"{head} {{d}}, {{a}}, {{b}}, {{c}};"] = simd_model(SIMD[name], size, types, default, how)
            if types[0] == types[1]:
                continue
            picked = f"{head} {{d}}.{letter}{mask}, {{a}}.{letter}{first}, {{b}}.{letter}{other}, {{c}};"
            models[picked] = simd_model(SIMD[name], size, types, (mask, first, other), how)
    against(models, operands(), np.uint32)


@pytest.mark.parametrize("size", [8, 16])
def test_simd_comparisons(size: int) -> None:
    default = ("3210", "3210", "7654") if size == 8 else ("10", "10", "32")
    models: dict[str, Model] = {}
    for (name, holds), a, b in product(COMPARISONS.items(), ("u32", "s32"), ("u32", "s32")):
        for how in ("", "add"):
            text = f"vset{32 // size}.{a}.{b}.{name}{'.' if how else ''}{how} {{d}}, {{a}}, {{b}}, {{c}};"
            models[text] = simd_model(holds, size, ("u32", a, b), default, how)
    against(models, operands(), np.uint32)
