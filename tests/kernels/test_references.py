"""Each problem's reference against a few lines of plain loops."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest

from gridstride.judge.cases.case_list import all_cases
from gridstride.judge.find import find, problem_names
from gridstride.judge.reference.prepared_cases import prepare

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
    loops = "".join(file.read_text() for file in Path(__file__).parent.glob("test_references*.py"))
    assert name in re.findall(r'reference\(\s*"(\w+)"', loops)


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


@pytest.mark.parametrize("shape", [(1, 1), (2, 5), (3, 3), (7, 6)])
def test_heat_moves_four_times_inside_the_edge(shape: tuple[int, int]) -> None:
    u, r = DRAW.standard_normal(shape), 0.2
    cells = u.tolist()
    for _ in range(4):
        before = [row[:] for row in cells]
        for i, j in itertools.product(range(1, shape[0] - 1), range(1, shape[1] - 1)):
            around = before[i - 1][j] + before[i + 1][j] + before[i][j - 1] + before[i][j + 1]
            cells[i][j] = before[i][j] + r * (around - 4 * before[i][j])
    np.testing.assert_allclose(reference("heat", u=u, r=r)["v"], cells)


@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (6, 3)])
def test_life_lives_by_its_neighbours(shape: tuple[int, int]) -> None:
    now = DRAW.integers(0, 1 << 32, shape) & DRAW.integers(0, 1 << 32, shape)
    alive = {(r, 32 * w + b) for r, w, b in np.ndindex(*shape, 32) if now[r, w] >> b & 1}
    after = reference("life", now=now)["next"]
    for r, w, b in np.ndindex(*shape, 32):
        column = 32 * w + b
        near = itertools.product((r - 1, r, r + 1), (column - 1, column, column + 1))
        around = sum(cell in alive and cell != (r, column) for cell in near)
        assert after[r, w] >> b & 1 == (around == 3 or (around == 2 and (r, column) in alive))


def test_nbody_adds_up_the_pull_of_each_source() -> None:
    bodies, sources, softening = DRAW.standard_normal((5, 4)), DRAW.standard_normal((6, 4)), 0.3
    got = reference("nbody", bodies=bodies, sources=sources, softening=softening)["accelerations"]
    for i, axis in itertools.product(range(5), range(3)):
        total = 0.0
        for x, y, z, mass in sources.tolist():
            square = sum((p - q) ** 2 for p, q in zip((x, y, z), bodies[i, :3].tolist(), strict=True))
            total += mass * ((x, y, z)[axis] - bodies[i, axis]) / math.sqrt(square + softening) ** 3
        assert got[i, axis] == pytest.approx(total)


def test_lattice_boltzmann_streams_and_then_collides() -> None:
    """Pushed from where populations are, where the reference takes them in; all kinds of cells."""
    height, width, omega, speed, force = 4, 5, 1.1, 0.04, 0.002
    c = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
    w = [4 / 9] + 4 * [1 / 9] + 4 * [1 / 36]
    f, kinds = DRAW.uniform(0.5, 1.5, (9, height, width)), DRAW.integers(0, 4, (height, width))
    g = np.full(f.shape, np.nan)
    for y, x, i in np.ndindex(height, width, 9):
        down, across = (y + c[i][1]) % height, (x + c[i][0]) % width
        if kinds[y, x] in (0, 3):
            g[i, down, across] = f[i, y, x]
        else:  # what moved against i ran into the wall, and comes back from it with i
            against = c.index((-c[i][0], -c[i][1]))
            g[i, down, across] = f[against, down, across] + 6 * w[i] * c[i][0] * speed * (kinds[y, x] == 2)
    after = reference("lattice_boltzmann", f=f, kinds=kinds, omega=omega, speed=speed, force=force)["after"]
    for y, x, i in np.ndindex(height, width, 9):
        came, kind = g[:, y, x], kinds[y, x]
        rho = sum(came) if kind == 0 else 1.0
        ux = sum(p * cx for p, (cx, _) in zip(came, c, strict=True)) / rho if kind == 0 else speed * (kind == 3)
        uy = sum(p * cy for p, (_, cy) in zip(came, c, strict=True)) / rho if kind == 0 else 0.0
        cu = c[i][0] * ux + c[i][1] * uy
        e = w[i] * rho * (1 + 3 * cu + 9 / 2 * cu**2 - 3 / 2 * (ux**2 + uy**2))
        expected = came[i] + omega * (e - came[i]) + 3 * w[i] * c[i][0] * force if kind == 0 else e
        assert after[i, y, x] == pytest.approx(expected)


def test_black_scholes_is_the_mean_of_what_is_paid_over_the_distribution_of_the_end() -> None:
    spot, strike, years, rate, volatility = 42.0, 45.0, 1.5, 0.03, 0.25
    step, call, put = 1e-3, 0.0, 0.0
    for k in range(-9000, 9000):
        z = (k + 0.5) * step
        end = spot * math.exp((rate - volatility**2 / 2) * years + volatility * math.sqrt(years) * z)
        weight = math.exp(-z * z / 2) / math.sqrt(2 * math.pi) * step * math.exp(-rate * years)
        call += weight * max(end - strike, 0.0)
        put += weight * max(strike - end, 0.0)
    one = {"spot": np.array([spot]), "strike": np.array([strike]), "years": np.array([years])}
    got = reference("black_scholes", **one, rate=rate, volatility=volatility)
    assert got["call"][0] == pytest.approx(call, rel=1e-6)
    assert got["put"][0] == pytest.approx(put, rel=1e-6)


def philox_words(row: int, block: int, half: int, seed: int) -> list[int]:
    """Philox4x32-10 as its authors write it: a multiplication by a constant, its halves, a key that goes on."""
    a, b, c, d, key = row, block, half, 0, [seed, 0]
    for _ in range(10):
        first, second = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (second >> 32) ^ b ^ key[0], second % 2**32, (first >> 32) ^ d ^ key[1], first % 2**32
        key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
    return [a, b, c, d]


@pytest.mark.parametrize("colour", [0, 1])
def test_ising_turns_by_its_neighbours_and_its_word(colour: int) -> None:
    height, width, three, four = 5, 18, 3 << 30, 1 << 30
    spins = (DRAW.random((height, width)) < 0.2).astype(int)
    numbers = {"colour": colour, "three": three, "four": four, "half_sweep": 2**32 - 2, "seed": 77}
    after = reference("ising", spins=spins, **numbers)["after"]
    for y, x in np.ndindex(height, width):
        near = [spins[(y + dy) % height, (x + dx) % width] for dy, dx in ((0, 1), (0, -1), (1, 0), (-1, 0))]
        agree = sum(other == spins[y, x] for other in near)
        word = philox_words(y, x // 8, 2**32 - 2, 77)[x % 8 // 2]
        turns = agree <= 2 or word < {3: three, 4: four}[agree]
        assert after[y, x] == spins[y, x] ^ (turns and (y + x + colour) % 2 == 0)


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (5, 4)])
def test_sobel_slopes_by_its_two_filters(shape: tuple[int, int]) -> None:
    image = DRAW.integers(0, 256, shape)
    edges = reference("sobel", image=image)["edges"]
    weight = {-1: 1, 0: 2, 1: 1}
    for y, x in np.ndindex(*shape):
        gx = gy = 0
        for dy, dx in itertools.product((-1, 0, 1), repeat=2):
            pixel = int(image[min(max(y + dy, 0), shape[0] - 1), min(max(x + dx, 0), shape[1] - 1)])
            gx += dx * weight[dy] * pixel
            gy += dy * weight[dx] * pixel
        assert edges[y, x] == (abs(gx) + abs(gy) + 4) // 8


def test_sobel_sees_no_edge_in_a_flat_picture_and_a_ramp_is_as_steep_everywhere_inside() -> None:
    assert not reference("sobel", image=np.full((7, 9), 200))["edges"].any()
    ramp = np.tile(10 * np.arange(12), (6, 1))
    assert (reference("sobel", image=ramp)["edges"][:, 1:-1] == 10).all()
    assert (reference("sobel", image=ramp.T)["edges"] == reference("sobel", image=ramp)["edges"].T).all()


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


def test_convolution_half_adds_up_channels_of_the_taps_in_the_image() -> None:
    images, weights = DRAW.standard_normal((2, 3, 4, 5)), DRAW.standard_normal((6, 3, 3, 5))
    convolved = reference("convolution_half", images=images, weights=weights)["convolved"]
    for n, y, x, k in itertools.product(range(2), range(3), range(4), range(6)):
        total = 0.0
        for r, s, c in itertools.product(range(3), range(3), range(5)):
            if 0 <= y + r - 1 < 3 and 0 <= x + s - 1 < 4:
                total += images[n, y + r - 1, x + s - 1, c] * weights[k, r, s, c]
        assert convolved[n, y, x, k] == pytest.approx(total)


def test_matmul_half() -> None:
    a, b = (DRAW.standard_normal(shape).astype(np.float16).astype(float) for shape in ((3, 6), (6, 4)))
    c = [[sum(a[i, k] * b[k, j] for k in range(6)) for j in range(4)] for i in range(3)]
    np.testing.assert_allclose(reference("matmul_half", A=a, B=b)["C"], c)


def test_matmul_tf32_takes_the_rows_of_b_for_columns() -> None:
    a, b = DRAW.standard_normal((3, 6)), DRAW.standard_normal((4, 6))
    c = [[sum(a[i, k] * b[j, k] for k in range(6)) for j in range(4)] for i in range(3)]
    np.testing.assert_allclose(reference("matmul_tf32", A=a, B=b)["C"], c)


def test_matmul_fp8() -> None:
    values = [[-448.0, 2.0**-9, 1.125], [0.0, -0.0, 15 * 2.0**-9]]
    a, b = np.array([[254, 1, 57], [0, 128, 15]]), np.array([[56, 56, 56], [8, 9, 184]])
    scale_a, scale_b = np.array([0.5, 4.0]), np.array([3.0, 0.25])
    c = reference("matmul_fp8", A=a, B=b, scale_a=scale_a, scale_b=scale_b)["C"]
    for i, j in np.ndindex(2, 2):
        others = [[1.0, 1.0, 1.0], [2.0**-6, 2.0**-6 * 1.125, -1.0]][j]
        assert c[i, j] == scale_a[i] * scale_b[j] * sum(x * y for x, y in zip(values[i], others, strict=True))


def test_row_dot() -> None:
    a, b = DRAW.standard_normal((2, 4, 7))
    expected = [sum(x * z for x, z in zip(left, right, strict=True)) for left, right in zip(a, b, strict=True)]
    np.testing.assert_allclose(reference("row_dot", a=a, b=b)["y"], expected)


def test_radix_sort_leaves_no_key_behind_a_smaller_one() -> None:
    keys = DRAW.integers(0, 1 << 32, 50)
    keys[:10] = keys[10]
    ordered = reference("radix_sort", keys=keys, n=50)["ordered"].tolist()
    assert all(a <= b for a, b in itertools.pairwise(ordered))
    assert sorted(ordered) == sorted(keys.tolist())
