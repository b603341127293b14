"""Wrong results in words a beginner understands."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gridstride.judge.results.evidence import PATTERNS, Evidence, Pattern
from gridstride.judge.results.patterns import describe

RIGHT = np.random.default_rng(0).standard_normal((40, 24)).astype(np.float32)


def seen(
    got: np.ndarray, expected: np.ndarray = RIGHT, unwritten: np.ndarray | None = None, blocks: int = 0, block: int = 0
) -> Pattern:
    wrong = ~np.isclose(got, expected, rtol=1e-6, atol=0, equal_nan=True)
    none = np.zeros(got.shape, bool) if unwritten is None else unwritten
    return describe(Evidence(got, expected.astype(np.float64), wrong, none, blocks, block))


def changed(change: Callable[[np.ndarray], None]) -> Pattern:
    got = RIGHT.copy()
    change(got)
    return seen(got)


def put(where: object) -> Callable[[np.ndarray], None]:
    def change(got: np.ndarray) -> None:
        got[where] += 1 + np.abs(got[where])

    return change


def test_elements_that_are_nan_are_those_that_the_sentence_is_about() -> None:
    got = RIGHT.copy()
    got[0, 0] += 5
    got[3, 4] = np.nan
    pattern = seen(got)
    assert "element (3, 4) was NaN or Inf" in pattern.text
    assert pattern.elements is not None
    assert np.argwhere(pattern.elements).tolist() == [[3, 4]]


def never_written_from(first: int, blocks: int, block: int) -> Pattern:
    flat = RIGHT.reshape(-1)
    unwritten = np.arange(flat.size) >= first
    return seen(np.where(unwritten, np.nan, flat).astype(np.float32), flat, unwritten, blocks, block)


@pytest.mark.parametrize("blocks", [9, 3])  # an element for each thread, and three
def test_a_tail_that_was_never_written_and_begins_where_the_threads_end_points_at_the_grid(blocks: int) -> None:
    pattern = never_written_from(900, blocks, 100)
    assert pattern.name == "never_written"
    assert "elements 900 to 959 (the last 60 of 960) were never written" in str(pattern)
    assert "rounded up" in pattern.mistake


@pytest.mark.parametrize(("blocks", "words"), [(10, "threads enough"), (7, "an index wraps round")])
def test_a_tail_that_begins_elsewhere_does_not_point_at_the_grid_alone(blocks: int, words: str) -> None:
    pattern = never_written_from(900, blocks, 100)
    assert "rounded up" not in pattern.mistake
    assert words in pattern.mistake


@pytest.mark.parametrize(
    ("size", "first", "block", "grouped"),
    [(1000, 996, 0, False), (1002, 1000, 0, True), (1000, 900, 300, True), (1000, 901, 300, False), (4, 3, 32, False),
     (192, 48, 128, False)],
)  # fmt: skip
def test_a_tail_is_behind_the_last_full_group_only_where_there_is_such_a_group(
    size: int, first: int, block: int, grouped: bool
) -> None:
    right = np.random.default_rng(5).standard_normal(size)
    got = right.copy()
    got[first:] += 1 + np.abs(right[first:])
    pattern = seen(got, right, blocks=1, block=block)
    assert pattern.name == "tail"
    assert ("last full group" in pattern.mistake) == grouped


def test_nothing_written_at_all() -> None:
    pattern = seen(np.full_like(RIGHT, np.nan), RIGHT, np.ones(RIGHT.shape, bool))
    assert "all 960 elements were never written" in pattern.text


def test_transposed_also_where_the_matrix_is_not_square() -> None:
    pattern = seen(np.ascontiguousarray(RIGHT.T).reshape(RIGHT.shape))
    assert pattern.name == "transposed"
    assert "row * 24 + column" in pattern.mistake


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("tail", put((slice(39, 40), slice(10, None))), "(39, 10) to (39, 23) (the last 14 of 960)"),
        ("columns_above", put((slice(None), slice(16, None))), "columns 16 to 23 of 24"),
        ("columns_every", put((slice(None), slice(3, None, 5))), "one in 5 of the columns is wrong, from 3 on"),
        ("rows_every", put((slice(0, None, 8), slice(None))), "one in 8 of the rows"),
        ("factor", lambda got: np.multiply(got, 3, out=got), "3 times what it should be"),
        ("offset", lambda got: np.add(got, 2, out=got), "off by 2"),
        ("constant", lambda got: got.fill(0), "every element is 0"),
        ("not_a_number", put((5, 6)), "element (5, 6) was NaN or Inf"),
        ("scattered", put(([3, 17, 30], [20, 2, 11])), "3 of 960 elements are wrong, first: element (3, 20)"),
    ],
)
def test_patterns(name: str, change: Callable[[np.ndarray], None], words: str) -> None:
    def with_nan(got: np.ndarray) -> None:
        got[5, 6] = np.nan

    pattern = changed(with_nan if name == "not_a_number" else change)
    assert pattern.name == name, pattern
    assert words in pattern.text


def test_rows_above_a_number_are_a_tail() -> None:
    assert changed(put(slice(32, None))).name == "tail"


def test_the_border() -> None:
    got = RIGHT * 2
    got[2:-2, 2:-2] = RIGHT[2:-2, 2:-2]
    assert seen(got).name == "border"
    assert "within 2 of the border" in seen(got).text


def test_the_edges_of_every_tile() -> None:
    right = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32)
    got = right.copy()
    edge = np.isin(np.arange(64) % 16, [0, 15])
    edge[[0, 63]] = False  # at the border of the image nothing is missing
    got[edge, :] *= 1.5
    got[:, edge] *= 1.5
    assert seen(got, right).name == "tile_edges"


def test_what_is_wrong_at_the_border_of_an_image_of_one_tile_says_nothing_of_a_halo() -> None:
    right = np.random.default_rng(1).standard_normal((32, 64)).astype(np.float32)
    got = right.copy()
    got[:2, :] *= 1.5
    got[-2:, :] *= 1.5
    got[:, :2] *= 1.5
    got[:, -2:] *= 1.5
    assert seen(got, right).name == "border"
    got[:, -2:] = right[:, -2:]
    pattern = seen(got, right)
    assert pattern.name != "tile_edges"
    assert "halo" not in pattern.mistake


def test_an_index_below_zero_that_wraps_is_wrong_at_the_border_too() -> None:
    got = RIGHT * 2
    got[2:, 2:] = RIGHT[2:, 2:]
    assert seen(got).name == "border"


@pytest.mark.parametrize(("shift", "words"), [(1, "previous"), (-1, "next")])
def test_shifted_by_one(shift: int, words: str) -> None:
    flat = RIGHT.reshape(-1)
    pattern = seen(np.roll(flat, shift), flat)
    assert pattern.name == "shifted"
    assert words in pattern.text


def test_permuted() -> None:
    flat = RIGHT.reshape(-1)
    assert seen(np.random.default_rng(2).permutation(flat), flat).name == "permuted"


def test_half_precision() -> None:
    assert seen(RIGHT.astype(np.float16).astype(np.float32)).name == "precision"


def test_a_single_number_is_a_multiple_only_when_the_factor_is_whole() -> None:
    assert seen(np.array([96.0], np.float32), np.array([3.0])).name == "factor"
    assert seen(np.array([96.0], np.float32), np.array([7.3])).name == "everywhere"


def test_whole_number_outputs() -> None:
    right = np.random.default_rng(3).integers(0, 255, (40, 24)).astype(np.uint8)
    got = right.copy()
    got[:, 20:] ^= 5
    wrong = got != right
    pattern = describe(Evidence(got, right, wrong, np.zeros_like(wrong)))
    assert pattern.name == "columns_above"


def products(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.asarray(a * x, np.float32)


def test_zero_times_infinity_that_came_out_as_zero_is_no_permutation() -> None:
    x = np.random.default_rng(4).standard_normal(900).astype(np.float32)
    x[::50] = 0
    right = products(np.float32(np.inf), x)
    pattern = seen(np.where(x == 0, np.float32(0), right), right)
    assert pattern.name == "nonfinite_lost"
    assert "18 of 900 elements, the first at 0, were numbers where NaN belongs" in pattern.text
    assert "0 · Inf" in pattern.mistake


def test_a_few_lost_nans_among_right_elements() -> None:
    right = RIGHT.copy()
    right[11, 3] = np.nan
    got = right.copy()
    got[11, 3] = 0.3
    pattern = seen(got, right)
    assert pattern.name == "nonfinite_lost"
    assert "element (11, 3) was a number where NaN belongs" in pattern.text


def test_lost_precision_with_cancellation_is_no_permutation() -> None:
    flat = (RIGHT.reshape(-1) * np.geomspace(1, 1e3, RIGHT.size)).astype(np.float32)
    noise = 5e-4 * np.random.default_rng(5).uniform(-1, 1, flat.size)
    noise[::50] = 0.1  # what is left of two large terms: a rounding error there is any size
    pattern = seen((flat * (1 + noise)).astype(np.float32), flat)
    assert pattern.name == "precision", pattern
    assert "of their 24 bits" in pattern.text


def test_a_permutation_of_some_elements_is_one() -> None:
    flat = RIGHT.reshape(-1)
    got = flat.copy()
    places = np.arange(0, 900, 30)
    got[places] = flat[np.roll(places, 7)]
    assert seen(got, flat).name == "permuted"


@pytest.mark.parametrize(
    ("dtype", "said"), [(np.float32, "denormals were flushed to zero"), (np.float16, "a formula that gives 0")]
)
def test_zeros_for_denormals_are_called_flushed_where_hardware_flushes(dtype: type, said: str) -> None:
    tiny = float(np.finfo(dtype).tiny)
    right = (np.random.default_rng(7).uniform(0.1, 0.9, 300) * tiny).astype(dtype)
    wrong = np.ones(300, bool)
    pattern = describe(Evidence(np.zeros(300, dtype), right.astype(np.float64), wrong, ~wrong))
    assert pattern.name == "flushed"
    assert "all 300 elements were 0" in pattern.text
    assert said in pattern.mistake
    assert ("flushed" in pattern.mistake) == (dtype is np.float32)


def test_sums_of_numbers_that_were_flushed_are_called_flushed_too() -> None:
    tiny = np.finfo(np.float32).tiny
    a, b = (np.random.default_rng(seed).uniform(-2, 2, 300).astype(np.float32) * tiny for seed in (3, 4))
    kept = [np.where(np.abs(each) < tiny, np.float32(0), each) for each in (a, b)]
    pattern = seen(kept[0] + kept[1], (a + b).astype(np.float32))
    assert pattern.name == "flushed"
    assert "where numbers below 1.2e-38 are denormal" in pattern.text
    assert "denormals were flushed to zero" in pattern.mistake


def test_a_few_wrong_ones_among_small_numbers_are_not_called_flushed() -> None:
    right = np.random.default_rng(3).uniform(1, 8, 300).astype(np.float32) * np.finfo(np.float32).tiny
    got = right.copy()
    got[280:] *= 1.1
    assert seen(got, right).name != "flushed"


def test_errors_that_pile_up_are_not_taken_for_half_precision() -> None:
    noise = np.random.default_rng(8).uniform(0.5, 1, RIGHT.shape).astype(np.float32)
    right = 1 + np.abs(RIGHT)
    piled = seen((right * (1 + 2e-6 * noise)).astype(np.float32), right)
    assert piled.name == "precision"
    assert "pile up" in piled.mistake
    assert "half" in seen(right.astype(np.float16).astype(np.float32), right).mistake


def test_whole_numbers_are_told_in_full() -> None:
    got, right = np.array([[16777216, 5], [6, 7]], np.int64), np.array([[16777316.0, 9], [2, 80]])
    assert "is 16777216, should be 16777316" in seen(got, right).text


def test_nan_where_inf_belongs_says_which_is_which() -> None:
    got, right = RIGHT.copy(), RIGHT.copy()
    got[2, 3], right[2, 3] = np.nan, np.inf
    assert "element (2, 3) was NaN or Inf, but not the right one: nan, should be inf" in seen(got, right).text


def test_nan_of_other_bits_is_not_said_to_be_nan_that_should_be_nan() -> None:
    got = np.full(8, np.nan, np.float32)
    pattern = describe(Evidence(got, got.astype(np.float64), np.ones(8, bool), np.zeros(8, bool)))
    assert "NaN, as they should be, but with other bits" in pattern.text


def test_zeros_in_the_place_of_ordinary_numbers_are_not_flushed_ones() -> None:
    assert seen(np.zeros_like(RIGHT)).name == "constant"


def test_expected_values_without_a_finite_one_are_described_too() -> None:
    right = np.full(64, np.inf, np.float32)
    assert seen(np.arange(64, dtype=np.float32), right).name == "nonfinite_lost"
    assert "Inf belongs" in seen(np.arange(64, dtype=np.float32), right).text


def test_every_pattern_that_is_seen_has_a_name_that_a_header_may_give() -> None:
    assert {"tail", "precision", "flushed", "permuted", "rows_every"} <= set(PATTERNS)


SIGNALLING = np.array([0x7FA5A5A5], np.uint32).view(np.float32)[0]
ODD = st.sampled_from([0.0, -0.0, 1.0, 1.001, -2.5, 1e-40, 3e38, np.inf, -np.inf, np.nan])


@settings(max_examples=400, deadline=None)
@given(
    got=arrays(np.float32, (2, 2), elements=ODD.map(np.float32)),
    expected=arrays(np.float32, (2, 2), elements=ODD.map(np.float32)),
    signalling=arrays(np.bool_, (2, 2, 2)),
    wrong=arrays(np.bool_, (2, 2)),
)
def test_no_value_is_an_invalid_operation(
    got: np.ndarray, expected: np.ndarray, signalling: np.ndarray, wrong: np.ndarray
) -> None:
    """NaN, Inf and signalling NaNs, such as the poison, on either side: told of without a warning of NumPy's."""
    sides = [np.where(odd, SIGNALLING, side) for odd, side in zip(signalling, (got, expected), strict=True)]
    for wide in (np.float32, np.float64):
        with np.errstate(invalid="ignore"):
            there = sides[1].astype(wide)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            assert describe(Evidence(sides[0], there, wrong, np.zeros_like(wrong))).name in PATTERNS


def test_the_precision_of_wrong_elements_is_told_beside_nan_and_inf_elsewhere() -> None:
    expected = RIGHT.astype(np.float64).copy()
    expected[0, 0], expected[0, 1] = np.nan, np.inf
    got = expected.astype(np.float16).astype(np.float32)
    assert seen(got, expected).name == "precision"


def test_a_single_sum_that_is_nearly_right_may_lack_a_term() -> None:
    terms = np.random.default_rng(3).random(4099)
    pattern = seen(np.array([terms[1:].sum()], np.float32), np.array([terms.sum()]))
    assert pattern.name == "precision"
    assert "a term of the sum is left out or counted twice" in pattern.mistake


def test_many_results_that_are_nearly_right_are_a_matter_of_precision() -> None:
    pattern = seen(RIGHT.astype(np.float16).astype(np.float32))
    assert pattern.mistake == "Likely part of the arithmetic is done in fewer bits (half, bf16, tf32)."


def test_zeros_everywhere_may_be_what_was_divided_by_infinity() -> None:
    assert "half above 65,504" in seen(np.zeros_like(RIGHT)).mistake
    assert "Inf" not in seen(np.full_like(RIGHT, 3)).mistake


def test_a_kernel_without_narrow_arithmetic_is_not_said_to_have_any() -> None:
    got = (RIGHT * (1 + 2e-4 * np.random.default_rng(1).random(RIGHT.shape))).astype(np.float32)
    wrong = np.ones(got.shape, bool)
    pattern = describe(Evidence(got, RIGHT.astype(np.float64), wrong, ~wrong, narrow=False))
    assert pattern.name == "precision"
    assert "no arithmetic in fewer bits" in pattern.mistake


def test_numbers_that_differ_little_are_shown_with_digits_that_tell_them_apart() -> None:
    expected = np.full((4, 5), 12166.0)
    got = expected.astype(np.float32)
    got[1, 2] += 0.0625
    wrong = got != expected
    text = describe(Evidence(got, expected, wrong, np.zeros(got.shape, bool))).text
    assert "12166.0625" in text or "right to" in text


def test_errors_about_the_size_of_rounding_are_no_offset() -> None:
    got = (RIGHT + 2.6e-6 * (1 + 0.8 * np.random.default_rng(2).random(RIGHT.shape))).astype(np.float32)
    assert seen(got).name != "offset"
