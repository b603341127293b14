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
from gridstride.judge.verify import prepare

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
