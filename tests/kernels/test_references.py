"""Each problem's reference against a few lines of plain loops."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest

from gridstride.judge.cases import all_cases
from gridstride.judge.find import find, problem_names
from gridstride.judge.prepared_cases import prepare

DRAW = np.random.default_rng(0)


def reference(problem: str, **values: object) -> dict[str, np.ndarray]:
    return find(problem).problem.reference(values)


@pytest.mark.parametrize("name", problem_names())
def test_every_problem_has_rungs_wrong_kernels_and_notes(name: str) -> None:
    folder = find(name)
    assert folder.problem.name == name
    assert len(folder.rungs()) >= 3
    assert len(folder.wrong()) >= 3
    assert (folder.path / "notes.md").is_file()


@pytest.mark.parametrize("name", problem_names())
def test_outputs_have_the_shapes_of_the_signature(name: str) -> None:
    problem = find(name).problem
    for one in prepare(problem, all_cases(problem, seed=1)):
        for parameter in problem.outputs:
            shape = problem.shape(parameter, one.case.sizes)
            assert one.expected[parameter.name].values.shape == shape, one.case


@pytest.mark.parametrize("name", problem_names())
def test_magnitudes_bound_the_values(name: str) -> None:
    problem = find(name).problem
    for one in prepare(problem, all_cases(problem, seed=2)):
        for expected in one.expected.values():
            finite = np.isfinite(expected.values) & np.isfinite(expected.scale)
            if expected.values.dtype.kind == "f":
                assert (np.abs(expected.values) <= expected.scale * (1 + 1e-7))[finite].all(), one.case


WITHOUT_LOOPS = {"paged_attention", "rms_norm", "rotary_cache", "sample", "silu_mul", "skinny_gemm"}
"""Ops of the decoder: their rungs are held against PyTorch in test_ops.py. No new one belongs here."""


@pytest.mark.parametrize("name", sorted(set(problem_names()) - WITHOUT_LOOPS))
def test_every_problem_is_held_against_plain_loops(name: str) -> None:
    assert name in re.findall(r'reference\(\s*"(\w+)"', Path(__file__).read_text())


def test_matmul() -> None:
    a, b = DRAW.standard_normal((3, 5)), DRAW.standard_normal((5, 4))
    c = [[sum(a[i, k] * b[k, j] for k in range(5)) for j in range(4)] for i in range(3)]
    np.testing.assert_allclose(reference("matmul", A=a, B=b)["C"], c)


def test_vector_add_and_saxpy() -> None:
    x, y = DRAW.standard_normal(7), DRAW.standard_normal(7)
    np.testing.assert_array_equal(reference("vector_add", a=x, b=y)["c"], [p + q for p, q in zip(x, y, strict=True)])
    np.testing.assert_allclose(
        reference("saxpy", a=2.5, x=x, y=y)["y"], [2.5 * p + q for p, q in zip(x, y, strict=True)]
    )


def test_reduction_adds_to_what_is_there() -> None:
    x = DRAW.standard_normal(9)
    np.testing.assert_allclose(reference("reduction", x=x, total=np.array([10.0]))["total"], [10.0 + sum(x)])


def test_scan_is_the_sum_of_all_elements_up_to_each() -> None:
    x = DRAW.standard_normal(9)
    np.testing.assert_allclose(reference("scan", x=x)["y"], [sum(x[: i + 1]) for i in range(9)])


def test_histogram_counts_what_lies_in_each_bin_on_top_of_what_was_there() -> None:
    small = np.finfo(np.float32).smallest_subnormal
    x = np.array([-4.0, -4.0001, 4.0, 3.9999, 0.0, -0.0, small, -small, -0.01, 1 / 32, np.nan, np.inf, -np.inf, 7e37])
    x = np.concatenate([x, DRAW.standard_normal(50)])
    before = DRAW.integers(-9, 9, 256)
    counts = reference("histogram", x=x, counts=before)["counts"]
    for bin_ in range(256):
        low, high = -4 + bin_ / 32, -4 + (bin_ + 1) / 32
        assert counts[bin_] == before[bin_] + sum(low <= v < high for v in x.tolist())


def test_a_count_that_is_full_begins_anew() -> None:
    full = np.full(256, 2**31 - 1)
    assert reference("histogram", x=np.zeros(1), counts=full)["counts"][128] == -(2**31)


def test_transpose() -> None:
    x = DRAW.standard_normal((3, 4))
    turned = reference("transpose", **{"in": x})["out"]
    assert all(turned[j, i] == x[i, j] for i, j in itertools.product(range(3), range(4)))


def test_aos_to_soa_puts_each_field_side_by_side() -> None:
    records = DRAW.standard_normal((5, 8))
    fields = reference("aos_to_soa", records=records)["fields"]
    assert all(fields[f, i] == records[i, f] for i, f in itertools.product(range(5), range(8)))


def test_calibrate_gives_each_channel_its_own_curve() -> None:
    x = DRAW.uniform(-1, 1, 11)
    y = reference("calibrate", x=x)["y"]
    for i, v in enumerate(x.tolist()):
        if i % 4 == 0:
            assert y[i] == pytest.approx(sum(v**k / math.factorial(k) for k in range(11)))
        elif i % 4 == 3:
            assert y[i] == pytest.approx(math.sqrt(1 + v * v))
        else:
            for _ in range(6 if i % 4 == 1 else 8):
                v = v * (1.5 - v * v / 2) if i % 4 == 1 else v + v * v / 8
            assert y[i] == pytest.approx(v)


def test_thermocouple_agrees_with_the_table_that_its_polynomial_is_of() -> None:
    mv = np.array([0.0, 4.096, 10.153, 20.644])  # type K at 0, 100, 250 and 500 °C, ITS-90
    celsius = reference("thermocouple", mv=mv)["celsius"]
    assert celsius == pytest.approx([0, 100, 250, 500], abs=0.05)
    horner = 0.0
    for c in (-1.052755e-8, 1.057734e-6, -4.413030e-5, 9.804036e-4, -1.228034e-2, 8.315270e-2, -2.503131e-1,
              7.860106e-2, 2.508355e1, 0.0):  # fmt: skip
        horner = horner * 7.5 + c
    assert reference("thermocouple", mv=np.array([7.5]))["celsius"] == pytest.approx([horner])


@pytest.mark.parametrize("n", [0, 1, 5, 12])
def test_remove_mean_leaves_a_sum_of_nothing_and_every_difference(n: int) -> None:
    x = DRAW.uniform(-3, 5, n)
    y = reference("remove_mean", x=x)["y"]
    assert y.shape == (n,)
    assert sum(y.tolist()) == pytest.approx(0, abs=1e-12)
    assert np.diff(y) == pytest.approx(np.diff(x))


def test_turn_blur_takes_the_mean_of_four_pixels_by_nearness() -> None:
    image, weights = DRAW.standard_normal((9, 12)), DRAW.standard_normal(5)
    turned = reference("turn_blur", image=image, weights=weights)["turned"]
    for y, x in np.ndindex(image.shape):
        expected = 0.0
        for k in range(-2, 3):
            across, down = 6 + (15 * (x + k - 6) - 5 * (y - 4)) / 16, 4 + (5 * (x + k - 6) + 15 * (y - 4)) / 16
            for row, column in np.ndindex(image.shape):
                nearness = max(0.0, 1 - abs(row - down)) * max(0.0, 1 - abs(column - across))
                expected += weights[k + 2] * nearness * image[row, column]
        assert turned[y, x] == pytest.approx(expected)


def test_linear_gelu_is_the_sum_with_its_bias_through_the_curve() -> None:
    X, W, b = DRAW.standard_normal((3, 4)), DRAW.standard_normal((4, 2)), DRAW.standard_normal(2)
    Y = reference("linear_gelu", X=X, W=W, b=b)["Y"]
    for i, j in np.ndindex(3, 2):
        v = b[j] + sum(X[i, k] * W[k, j] for k in range(4))
        assert Y[i, j] == pytest.approx(v / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))))


def test_grayscale_is_within_half_a_step_of_the_real_formula() -> None:
    rgb = DRAW.integers(0, 256, (6, 7, 3))
    gray = reference("grayscale", rgb=rgb)["gray"]
    # 77, 150 and 29 / 256 are each within 0.002 of the real weights.
    assert np.abs(gray - rgb @ [0.299, 0.587, 0.114]).max() < 0.5 + 255 * 0.002 * 3
    assert reference("grayscale", rgb=np.full((1, 1, 3), 255))["gray"][0, 0] == 255
    assert reference("grayscale", rgb=np.zeros((1, 1, 3), int))["gray"][0, 0] == 0


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (5, 5), (9, 4)])
def test_box_blur_takes_the_mean_of_what_lies_in_the_image(shape: tuple[int, int]) -> None:
    image = DRAW.standard_normal(shape)
    blurred = reference("box_blur", image=image)["blurred"]
    for r, c in itertools.product(*map(range, shape)):
        window = image[max(r - 2, 0) : r + 3, max(c - 2, 0) : c + 3]
        assert blurred[r, c] == pytest.approx(window.mean())


def test_a_spike_reaches_exactly_its_own_window() -> None:
    image = np.zeros((11, 12))
    image[5, 6] = 25e6
    assert (reference("box_blur", image=image)["blurred"] != 0).sum() == 25


def gelu(x: float) -> float:
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def test_gelu_and_its_slope() -> None:
    x, dy, step = DRAW.uniform(-4, 4, 9), DRAW.standard_normal(9), 1e-5
    slopes = [(gelu(v + step) - gelu(v - step)) / (2 * step) for v in x.tolist()]
    np.testing.assert_allclose(reference("gelu", x=x)["y"], [gelu(v) for v in x.tolist()])
    np.testing.assert_allclose(reference("gelu_backward", x=x, dy=dy)["dx"], dy * slopes, rtol=1e-8, atol=1e-9)


def softmax(row: list[float]) -> list[float]:
    powers = [math.exp(v - max(row)) for v in row]
    return [power / sum(powers) for power in powers]


def test_softmax_of_each_row() -> None:
    x = DRAW.uniform(-5, 5, (4, 7))
    np.testing.assert_allclose(reference("softmax", x=x)["y"], [softmax(row) for row in x.tolist()])
    far = reference("softmax", x=np.array([[1e30, 0.0, -np.inf]]))["y"]
    assert far.tolist() == [[1.0, 0.0, 0.0]]


@pytest.mark.parametrize("row", [[-np.inf, -np.inf], [np.inf, 0.0], [np.nan, 0.0]])
def test_a_row_without_a_finite_largest_element_has_no_softmax(row: list[float]) -> None:
    with np.errstate(invalid="ignore"):
        assert np.isnan(reference("softmax", x=np.array([row]))["y"]).all()


def test_softmax_backward_is_the_slope_of_softmax() -> None:
    x, dy, step = DRAW.uniform(-2, 2, 5), DRAW.standard_normal(5), 1e-6
    slopes = []
    for i in range(5):
        up, down = (softmax([v + sign * step * (i == j) for j, v in enumerate(x.tolist())]) for sign in (1, -1))
        slopes.append(sum(g * (a - b) / (2 * step) for g, a, b in zip(dy, up, down, strict=True)))
    y = np.array([softmax(x.tolist())])
    np.testing.assert_allclose(reference("softmax_backward", y=y, dy=dy[None])["dx"], [slopes], atol=1e-9)


def test_layer_norm_of_each_row() -> None:
    x, weight, bias = DRAW.uniform(-5, 5, (4, 7)), DRAW.standard_normal(7), DRAW.standard_normal(7)
    got = reference("layer_norm", x=x, weight=weight, bias=bias, eps=1e-3)
    for row, y, mean, rstd in zip(x.tolist(), got["y"], got["mean"], got["rstd"], strict=True):
        centre = sum(row) / 7
        scale = 1 / math.sqrt(sum((v - centre) ** 2 for v in row) / 7 + 1e-3)
        assert (mean, rstd) == (pytest.approx(centre), pytest.approx(scale))
        expected = [(v - centre) * scale * w + b for v, w, b in zip(row, weight, bias, strict=True)]
        np.testing.assert_allclose(y, expected)


@pytest.mark.parametrize(("shape", "radius"), [((1, 1, 1), 2), ((2, 5, 7), 1), ((2, 3, 6), 3)])
def test_convolution_weighs_what_lies_in_the_plane(shape: tuple[int, int, int], radius: int) -> None:
    image, weights = DRAW.standard_normal(shape), DRAW.standard_normal((2 * radius + 1, 2 * radius + 1))
    filtered = reference("convolution", image=image, weights=weights)["filtered"]
    for p, y, x in itertools.product(*map(range, shape)):
        total = 0.0
        for r, c in itertools.product(range(-radius, radius + 1), repeat=2):
            if 0 <= y + r < shape[1] and 0 <= x + c < shape[2]:
                total += weights[radius + r, radius + c] * image[p, y + r, x + c]
        assert filtered[p, y, x] == pytest.approx(total)


def test_matmul_half() -> None:
    a, b = (DRAW.standard_normal(shape).astype(np.float16).astype(float) for shape in ((3, 6), (6, 4)))
    c = [[sum(a[i, k] * b[k, j] for k in range(6)) for j in range(4)] for i in range(3)]
    np.testing.assert_allclose(reference("matmul_half", A=a, B=b)["C"], c)


@pytest.mark.parametrize("past", [4, 0, -2, 1])
def test_attention_weighs_the_values_of_the_keys_that_a_query_sees(past: int) -> None:
    q, k, v = (DRAW.standard_normal(shape) for shape in ((2, 3, 5, 6), (2, 4, 6), (2, 4, 6)))
    expected = np.zeros_like(q)
    for h, g, i in np.ndindex(2, 3, 5):
        seen = [j for j in range(4) if j <= i + past]
        powers = [math.exp(-0.7 * sum(q[h, g, i, d] * k[h, j, d] for d in range(6))) for j in seen]
        for power, j in zip(powers, seen, strict=True):
            expected[h, g, i] += power / sum(powers) * v[h, j]
    got = reference("attention", q=q, k=k, v=v, past=past, scale=-0.7)["out"]
    np.testing.assert_allclose(got, expected, atol=1e-12)
