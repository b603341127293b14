"""setp, set, selp, slct against the comparisons of Python, with NaN as the ISA has it."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from ptx_programs import against, edges, grid, in_all_modes, run_instructions

INTEGERS = {f"{s}{w}": np.dtype(f"{'i' if s == 's' else 'u'}{w // 8}") for s in "bus" for w in (16, 32, 64)}
HALVES = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
FLOATS = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}
RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}
UNSIGNED = {"lo": operator.lt, "ls": operator.le, "hi": operator.gt, "hs": operator.ge}
COMBINE: dict[str, Callable[[bool, bool], bool]] = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}
NUMBERS = [0.0, -0.0, 1.0, -1.0, 1.5, 2.0, -2.0, 1e-40, -1e-40, 6e-8, 3e4, math.inf, -math.inf, math.nan]


def relations(t: str) -> dict[str, Callable[[Any, Any], bool]]:
    """What each comparison of a type means."""
    if t[0] == "b" and t != "bf16":
        return {name: RELATIONS[name] for name in ("eq", "ne")}
    if t[0] == "u":
        return RELATIONS | UNSIGNED
    if t[0] == "s":
        return RELATIONS

    def ordered(relation: Callable[[Any, Any], bool], if_nan: bool) -> Callable[[Any, Any], bool]:
        return lambda x, y: if_nan if math.isnan(x) or math.isnan(y) else relation(x, y)

    return {
        **{name: ordered(relation, False) for name, relation in RELATIONS.items()},
        **{f"{name}u": ordered(relation, True) for name, relation in RELATIONS.items()},
        "num": ordered(lambda x, y: True, False),
        "nan": ordered(lambda x, y: False, True),
    }


def flushed(x: float) -> float:
    return math.copysign(0.0, x) if abs(x) < 2.0**-126 else x


Predicates = dict[str, Callable[..., bool]]


def check_predicates(models: Predicates, inputs: list[np.ndarray], rows: list[tuple[Any, ...]]) -> None:
    texts = list(models)
    wanted = [np.array([models[text](*row) for row in rows], bool) for text in texts]

    def check(i: int, result: np.ndarray, elements: np.ndarray) -> None:
        wrong = elements[result != wanted[i][elements]]
        assert not len(wrong), f"{texts[i]} is wrong for {rows[wrong[0]]}"

    in_all_modes(texts, inputs, bool, check)


@pytest.mark.parametrize("t", INTEGERS)
def test_setp_of_integers(t: str) -> None:
    inputs = grid(edges(INTEGERS[t]), edges(INTEGERS[t]), dtypes=[INTEGERS[t]] * 2)
    models = {f"setp.{name}.{t} {{d}}, {{a}}, {{b}};": relation for name, relation in relations(t).items()}
    check_predicates(models, inputs, list(zip(*(x.tolist() for x in inputs), strict=True)))


@pytest.mark.parametrize("t", FLOATS)
def test_setp_of_floats(t: str) -> None:
    inputs = grid(NUMBERS, NUMBERS, dtypes=[FLOATS[t]] * 2)
    rows = list(zip(*(x.tolist() for x in inputs), strict=True))
    models = {f"setp.{name}.{t} {{d}}, {{a}}, {{b}};": relation for name, relation in relations(t).items()}
    if t == "f32":
        models |= {
            f"setp.{name}.ftz.f32 {{d}}, {{a}}, {{b}};": lambda x, y, r=relation: r(flushed(x), flushed(y))
            for name, relation in relations(t).items()
        }
    check_predicates(models, inputs, rows)


@pytest.mark.parametrize("t", HALVES)
def test_setp_of_halves(t: str) -> None:
    values = np.array(NUMBERS).astype(HALVES[t])
    pairs = list(product(range(len(values)), repeat=2))
    x, y = (values[[p[i] for p in pairs]] for i in range(2))
    models = {f"setp.{name}.{t} {{d}}, {{a}}, {{b}};": relation for name, relation in relations(t).items()}
    rows = [(float(p), float(q)) for p, q in zip(x, y, strict=True)]
    check_predicates(models, [x.view(np.uint16), y.view(np.uint16)], rows)


def test_setp_flushes_f16() -> None:
    values = np.array([0.0, 6e-8, -6e-8, 6.1e-5, 7e-5, -7e-5, math.nan], np.float16)
    x, y = (values[list(i)] for i in zip(*product(range(len(values)), repeat=2), strict=True))

    def flat(v: float) -> float:
        return math.copysign(0.0, v) if abs(v) < 2.0**-14 else v

    models = {
        f"setp.{name}.ftz.f16 {{d}}, {{a}}, {{b}};": lambda p, q, r=relation: r(flat(p), flat(q))
        for name, relation in relations("f16").items()
    }
    rows = [(float(p), float(q)) for p, q in zip(x, y, strict=True)]
    check_predicates(models, [x.view(np.uint16), y.view(np.uint16)], rows)


@pytest.mark.parametrize("t", HALVES)
def test_setp_of_packed_halves_gives_one_predicate_each(t: str) -> None:
    values = np.array(NUMBERS).astype(HALVES[t])
    low = np.resize(values, 128)
    high = np.resize(np.roll(values, 5), 128)
    other = np.repeat(values, 10)[:128]
    x = low.view(np.uint16) | high.view(np.uint16).astype(np.uint32) << 16
    y = other.view(np.uint16) | np.roll(other, 3).view(np.uint16).astype(np.uint32) << 16
    rows = [tuple(map(float, row)) for row in zip(low, high, other, np.roll(other, 3), strict=True)]
    models = {}
    for name, relation in relations(t).items():
        models[f"setp.{name}.{t}x2 {{d}}|%p0, {{a}}, {{b}};"] = lambda a, b, c, d, r=relation: r(a, c)
        models[f"setp.{name}.{t}x2 %p0|{{d}}, {{a}}, {{b}};"] = lambda a, b, c, d, r=relation: r(b, d)
    check_predicates(models, [x, y], rows)


@pytest.mark.parametrize("combine", COMBINE)
@pytest.mark.parametrize("negated", ["", "!"])
def test_setp_combines_with_a_predicate(combine: str, negated: str) -> None:
    join = COMBINE[combine]
    inputs = [*grid([1, 2], [1, 2], [0, 1], dtypes=[np.int32, np.int32, bool])]
    rows = list(zip(*(x.tolist() for x in inputs), strict=True))
    text = f"setp.lt.{combine}.s32 {{p}}, {{{{a}}}}, {{{{b}}}}, {negated}{{{{c}}}};"
    models: Predicates = {
        text.format(p="{d}"): lambda x, y, c: join(x < y, c != bool(negated)),
        text.format(p="{d}|%p0"): lambda x, y, c: join(x < y, c != bool(negated)),
        text.format(p="%p0|{d}"): lambda x, y, c: join(not x < y, c != bool(negated)),
        text.format(p="_|{d}"): lambda x, y, c: join(not x < y, c != bool(negated)),
    }
    check_predicates(models, inputs, rows)


def test_a_setp_may_write_the_predicate_it_reads() -> None:
    x = np.arange(32, dtype=np.int32)
    text = "setp.gt.s32 %p0, {a}, 9; setp.lt.and.s32 %p0|%p1, {a}, 20, %p0; xor.pred {d}, %p0, %p1;"
    assert run_instructions([text], [x], bool)[0].tolist() == (x > 9).tolist()


@pytest.mark.parametrize("pair", ["%p0|%p1", "%p1|%p0"])
def test_a_setp_may_write_its_guard(pair: str) -> None:
    x = np.arange(40, dtype=np.int32)
    text = f"setp.gt.s32 %p0, {{a}}, 9; setp.lt.s32 %p1, {{a}}, 0; @%p0 setp.lt.s32 {pair}, {{a}}, 20; "
    text += "selp.u32 %t0, 2, 0, %p1; selp.u32 %t1, 1, 0, %p0; or.b32 {d}, %t0, %t1;"
    got = run_instructions([text], [x], np.uint32)[0]
    first, second = (1, 2) if pair.startswith("%p0") else (2, 1)
    assert got.tolist() == [0 if v <= 9 else first if v < 20 else second for v in x.tolist()]


def test_logic_of_predicates() -> None:
    inputs = grid([0, 1], [0, 1], dtypes=[bool, bool])
    models: Predicates = {
        "and.pred {d}, {a}, {b};": lambda x, y: x and y,
        "or.pred {d}, {a}, {b};": lambda x, y: x or y,
        "xor.pred {d}, {a}, {b};": lambda x, y: x != y,
        "not.pred {d}, {a};": lambda x, y: not x,
        "mov.pred {d}, {b};": lambda x, y: y,
        "and.pred {d}, {a}, !{b};": lambda x, y: x and not y,
    }
    check_predicates(models, inputs, list(zip(*(x.tolist() for x in inputs), strict=True)))


# -- set --------------------------------------------------------------------------------------------------------------
TRUE = {"u32": 0xFFFFFFFF, "s32": 0xFFFFFFFF, "f32": 0x3F800000}


@pytest.mark.parametrize("t", ["b32", "u32", "s32", "u16", "s64", "f32", "f64"])
def test_set(t: str) -> None:
    dtype = {**INTEGERS, **FLOATS}[t]
    values = NUMBERS if t[0] == "f" else edges(dtype)
    inputs = grid(values, values, dtypes=[dtype] * 2)
    models: dict[str, Callable[..., int]] = {}
    for to, true in TRUE.items():
        for name, relation in relations(t).items():
            models[f"set.{name}.{to}.{t} %t0, {{a}}, {{b}}; mov.b32 {{d}}, %t0;"] = lambda x, y, r=relation, one=true: (
                one if r(x, y) else 0
            )
    against(models, inputs, np.uint32)


def test_set_combines_with_a_predicate_and_flushes() -> None:
    inputs = grid([0.0, 1e-40, 1.0], [0.0, 1e-40], [0, 1], dtypes=[np.float32, np.float32, bool])
    models: dict[str, Callable[..., int]] = {
        "set.gt.or.u32.f32 {d}, {a}, {b}, {c};": lambda x, y, c: -(x > y or c),
        "set.gt.and.u32.f32 {d}, {a}, {b}, !{c};": lambda x, y, c: -(x > y and not c),
        "set.gt.ftz.u32.f32 {d}, {a}, {b};": lambda x, y, c: -(flushed(x) > flushed(y)),
        "set.gt.and.ftz.s32.f32 {d}, {a}, {b}, {c};": lambda x, y, c: -(flushed(x) > flushed(y) and c),
    }
    against(models, inputs, np.uint32)


@pytest.mark.parametrize(("t", "one"), [("f16", 0x3C00), ("bf16", 0x3F80)])
def test_set_of_halves(t: str, one: int) -> None:
    values = np.array([0.0, 1.0, -2.0, math.nan]).astype(HALVES[t])
    x, y = (values[list(i)] for i in zip(*product(range(4), repeat=2), strict=True))
    floats = {b: float(v) for b, v in zip(values.view(np.uint16).tolist(), values, strict=True)}

    def both(function: Callable[[float, float], int]) -> Callable[[int, int], int]:
        def model(p: int, q: int) -> int:
            parts = [function(floats[p >> s & 0xFFFF], floats[q >> s & 0xFFFF]) & 0xFFFF for s in (0, 16)]
            return parts[0] | parts[1] << 16

        return model

    words = [v.view(np.uint16) for v in (x, y)]
    models: dict[str, Callable[..., int]] = {
        f"set.lt.{t}.{t} {{d}}, {{a}}, {{b}};": lambda p, q: one * (floats[p] < floats[q]),
        f"set.ltu.u16.{t} {{d}}, {{a}}, {{b}};": lambda p, q: -(not floats[p] >= floats[q]),
    }
    against(models, words, np.uint16)
    packed = [w | np.roll(w, 5).astype(np.uint32) << 16 for w in words]
    against({f"set.lt.{t}x2.{t}x2 {{d}}, {{a}}, {{b}};": both(lambda p, q: one * (p < q))}, packed, np.uint32)


# -- selection --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("t", ["b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64"])
def test_selp(t: str) -> None:
    dtype = INTEGERS[t]
    inputs = grid(edges(dtype)[::4], edges(dtype)[::5], [0, 1], dtypes=[dtype, dtype, bool])
    models = {
        f"selp.{t} {{d}}, {{a}}, {{b}}, {{c}};": lambda x, y, c: x if c else y,
        f"selp.{t} {{d}}, {{a}}, 3, {{c}};": lambda x, y, c: x if c else 3,
    }
    against(models, inputs, dtype)


@pytest.mark.parametrize("t", FLOATS)
def test_selp_and_slct_of_floats_keep_every_bit(t: str) -> None:
    bits = np.dtype(f"u{FLOATS[t].itemsize}")
    x = np.resize(np.array([*NUMBERS, -math.nan], FLOATS[t]), 64)
    y, chosen = np.roll(x, 1), np.arange(64) % 3 == 0

    def check(i: int, result: np.ndarray, elements: np.ndarray) -> None:
        wanted = np.where(chosen, x.view(bits), y.view(bits))[elements]
        assert result.view(bits).tolist() == wanted.tolist()

    in_all_modes([f"selp.{t} {{d}}, {{a}}, {{b}}, {{c}};"], [x, y, chosen], FLOATS[t], check)
    sign = np.where(chosen, 0, -1).astype(np.int32)
    in_all_modes([f"slct.{t}.s32 {{d}}, {{a}}, {{b}}, {{c}};"], [x, y, sign], FLOATS[t], check)


@pytest.mark.parametrize("t", ["b16", "u32", "s64"])
def test_slct(t: str) -> None:
    dtype = INTEGERS[t]
    signs = grid([5, 9], edges(np.int32), dtypes=[dtype, np.int32])
    against({f"slct.{t}.s32 {{d}}, {{a}}, 3, {{b}};": lambda x, c: x if c >= 0 else 3}, signs, dtype)
    floats = grid([5, 9], NUMBERS, dtypes=[dtype, np.float32])
    models = {
        f"slct.{t}.f32 {{d}}, {{a}}, 3, {{b}};": lambda x, c: x if c >= 0 else 3,
        f"slct.ftz.{t}.f32 {{d}}, {{a}}, 3, {{b}};": lambda x, c: x if flushed(c) >= 0 else 3,
    }
    against(models, floats, dtype)


@pytest.mark.parametrize(
    "text", ["setp.lt.b32 {d}, {a}, {a};", "setp.lo.s32 {d}, {a}, {a};", "setp.ltu.u32 {d}, {a}, {a};"]
)
def test_a_comparison_that_a_type_does_not_have_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"comparison|needs|cannot have"):
        run_instructions([text], [np.zeros(32, np.uint32)], bool)


PAIRS = np.array([0x0000, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0x7E00, 0x0001, 0x4000], np.uint32)


def packed_pairs() -> list[np.ndarray]:
    """All pairs of packed halves whose upper and lower halves are compared with different outcomes."""
    low, high = np.repeat(PAIRS, len(PAIRS)), np.tile(PAIRS, len(PAIRS))
    return [low | high << 16, high | np.roll(low, 5) << 16]


def outcomes(a: np.ndarray, b: np.ndarray, kind: str) -> dict[str, np.ndarray]:
    """Each comparison of the lower and the upper halves, by NumPy."""
    dtype = np.dtype(np.float16 if kind == "f16x2" else ml_dtypes.bfloat16)
    x, y = (v.view(np.uint16).view(dtype).astype(np.float32).reshape(-1, 2) for v in (a, b))
    unordered = np.isnan(x) | np.isnan(y)
    return {"eq": x == y, "lt": x < y, "neu": x != y, "geu": (x >= y) | unordered, "nan": unordered}


@pytest.mark.parametrize("kind", ["f16x2", "bf16x2"])
def test_setp_of_packed_halves_with_one_predicate_is_of_the_lower_ones(kind: str) -> None:
    a, b = packed_pairs()
    for name, wanted in outcomes(a, b, kind).items():
        got = run_instructions([f"setp.{name}.{kind} {{d}}, {{a}}, {{b}};"], [a, b], bool)[0]
        np.testing.assert_array_equal(got, wanted[:, 0])


@pytest.mark.parametrize("kind", ["f16x2", "bf16x2"])
def test_set_of_halves_as_integers(kind: str) -> None:
    """All ones for each half that holds; of a single half for the whole register."""
    a, b = packed_pairs()
    for name, wanted in outcomes(a, b, kind).items():
        texts = [f"set.{name}.{to}.{kind} {{d}}, {{a}}, {{b}};" for to in ("u32", "s32")]
        for got in run_instructions(texts, [a, b], np.uint32):
            np.testing.assert_array_equal(got, wanted[:, 0] * 0xFFFF + wanted[:, 1] * 0xFFFF0000)
        single = [x.astype(np.uint16) for x in (a, b)]
        texts = [f"set.{name}.{to}.{kind[:-2]} {{d}}, {{a}}, {{b}};" for to in ("u16", "s16")]
        for got in run_instructions(texts, single, np.uint16):
            np.testing.assert_array_equal(got, wanted[:, 0] * 0xFFFF)
