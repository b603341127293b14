"""Affine forms: whatever the form says, it is what the lanes hold."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from gridstride.virtual.lowering.analysis import affine
from gridstride.virtual.lowering.analysis.affine import LANE, Affine

WORD = st.integers(0, 2**32 - 1)
SMALL = st.integers(-(2**12), 2**12)
MASK = st.integers(0, 31) | WORD  # most forms lose their shape in a mask; below their alignment, they keep it


class Numbers:
    """Scalars that are Python integers: the forms can be evaluated."""

    def constant(self, width: int, value: int) -> int:
        return value % 2**width

    def op(self, name: str, width: int, a: int, b: int) -> int:
        results = {"add": a + b, "mul": a * b, "and": a & b, "or": a | b, "lshr": a >> b}
        return results[name] % 2**width

    def extend(self, a: int, signed: bool) -> int:
        return (a - 2**32 if signed and a >> 31 else a) % 2**64

    def truncate(self, a: int) -> int:
        return a % 2**32


S = Numbers()


def values(form: Affine) -> list[int]:
    """What every lane holds, from the definition of a form."""
    held = []
    for i in range(32):
        value = form.base + form.k[i] + sum(u * k[i] for k, u in form.terms)
        if form.extended:
            inner = values(form.extended.inner)[i]
            value += form.extended.scale * S.extend(inner, form.extended.signed)
        held.append(value % 2**form.width)
    return held


@st.composite
def forms(draw: Any) -> Affine:
    """A 32-bit form as indices are: a thread's number times something plus something."""
    shape = draw(st.sampled_from([LANE, tuple(i // 16 for i in LANE), tuple(i % 8 for i in LANE), affine.ZERO]))
    align = draw(st.sampled_from([1, 4, 32]))
    base = draw(WORD) // align * align
    form: Affine | None = Affine(32, base, shape, align=align)
    assert form is not None
    if draw(st.booleans()):
        form = affine.scale(S, form, draw(SMALL))
    if draw(st.booleans()):
        times = affine.multiply(S, form, Affine(32, draw(WORD)))
        form = times or form
    if draw(st.booleans()):
        form = affine.add(S, form, Affine(32, draw(WORD), LANE)) or form
    return form


@given(forms(), forms())
def test_a_sum_holds_the_sum_of_the_lanes(a: Affine, b: Affine) -> None:
    total = affine.add(S, a, b)
    assume(total is not None)
    assert total is not None
    assert values(total) == [(x + y) % 2**32 for x, y in zip(values(a), values(b), strict=True)]


@given(forms(), forms())
def test_a_difference_holds_the_difference_of_the_lanes(a: Affine, b: Affine) -> None:
    difference = affine.subtract(S, a, b)
    assume(difference is not None)
    assert difference is not None
    assert values(difference) == [(x - y) % 2**32 for x, y in zip(values(a), values(b), strict=True)]


@given(forms(), SMALL)
def test_scaling_multiplies_every_lane(a: Affine, factor: int) -> None:
    assert values(affine.scale(S, a, factor)) == [x * factor % 2**32 for x in values(a)]


@given(forms(), WORD)
def test_a_product_with_a_uniform_value_multiplies_every_lane(a: Affine, factor: int) -> None:
    product = affine.multiply(S, a, Affine(32, factor))
    assume(product is not None)
    assert product is not None
    assert values(product) == [x * factor % 2**32 for x in values(a)]


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(forms(), MASK)
def test_and_with_a_constant_is_exact_where_it_has_a_form(a: Affine, mask: int) -> None:
    masked = affine.bit_and(S, a, mask)
    assume(masked is not None)
    assert masked is not None
    assert values(masked) == [x & mask for x in values(a)]


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(forms(), MASK)
def test_or_with_a_constant_is_exact_where_it_has_a_form(a: Affine, mask: int) -> None:
    joined = affine.bit_or(S, a, mask)
    assume(joined is not None)
    assert joined is not None
    assert values(joined) == [x | mask for x in values(a)]


@settings(suppress_health_check=[HealthCheck.filter_too_much])  # most forms lose their shape in a shift
@given(forms(), st.integers(0, 40))
def test_a_logical_shift_is_exact_where_it_has_a_form(a: Affine, by: int) -> None:
    shifted = affine.shift_right(S, a, by, False)
    assume(shifted is not None)
    assert shifted is not None
    assert values(shifted) == [x >> by for x in values(a)]


@given(forms(), st.booleans())
def test_an_extension_wraps_where_the_lanes_wrap(a: Affine, signed: bool) -> None:
    longer = affine.extend(S, a, signed)
    assert longer is not None
    assert values(longer) == [S.extend(x, signed) for x in values(a)]


@given(forms(), st.booleans(), SMALL)
def test_a_scaled_extension_truncates_to_the_scaled_value(a: Affine, signed: bool, factor: int) -> None:
    longer = affine.extend(S, a, signed)
    assert longer is not None
    short = affine.truncate(S, affine.scale(S, longer, factor))
    assume(short is not None)
    assert short is not None
    assert values(short) == [x * factor % 2**32 for x in values(a)]


@given(forms())
def test_rebuilding_a_form_from_its_scalars_changes_nothing(a: Affine) -> None:
    assert values(a.rebuild(a.scalars())) == values(a)
    assert len(a.widths()) == len(a.scalars())


def test_a_bound_that_moves_is_given_up_so_that_loop_counters_end() -> None:
    joined = affine.join(Affine(32, top=4), Affine(32, top=5))
    assert joined is not None
    assert joined.top is None


def test_forms_that_differ_by_lane_have_no_join() -> None:
    assert affine.join(Affine(32, k=LANE), Affine(32)) is None
