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


def gelu(x: float) -> float:
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def test_gelu_and_its_slope() -> None:
    x, dy, step = DRAW.uniform(-4, 4, 9), DRAW.standard_normal(9), 1e-5
    slopes = [(gelu(v + step) - gelu(v - step)) / (2 * step) for v in x.tolist()]
    np.testing.assert_allclose(reference("gelu", x=x)["y"], [gelu(v) for v in x.tolist()])
    np.testing.assert_allclose(reference("gelu_backward", x=x, dy=dy)["dx"], dy * slopes, rtol=1e-8, atol=1e-9)


def test_gated_silu_and_its_slopes() -> None:
    gate, up, dout = DRAW.uniform(-4, 4, 9), DRAW.standard_normal(9), DRAW.standard_normal(9)
    step = 1e-6

    def out(g: float, u: float) -> float:
        return g / (1 + math.exp(-g)) * u

    pairs = list(zip(gate.tolist(), up.tolist(), strict=True))
    np.testing.assert_allclose(reference("swiglu", gate=gate, up=up)["out"], [out(g, u) for g, u in pairs])
    found = reference("swiglu_backward", gate=gate, up=up, dout=dout)
    slopes = [(out(g + step, u) - out(g - step, u)) / (2 * step) for g, u in pairs]
    np.testing.assert_allclose(found["dgate"], dout * slopes, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found["dup"], dout * [out(g, 1.0) for g in gate.tolist()])


def test_a_turn_of_complex_numbers_and_the_turn_back() -> None:
    x, angle = DRAW.standard_normal((6, 3, 64)), DRAW.uniform(0, 7, (2, 40))
    tables = {"cosine": np.cos(angle), "sine": np.sin(angle)}
    y = reference("rotary", x=x, **tables, direction=1.0)["y"]
    turned = (x[..., :32] + 1j * x[..., 32:]) * np.exp(1j * np.tile(angle[:, None, :32], (3, 1, 1)))
    np.testing.assert_allclose(y, np.concatenate((turned.real, turned.imag), -1))
    np.testing.assert_allclose(reference("rotary", x=y, **tables, direction=-1.0)["y"], x)


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


def test_argmax_is_the_first_of_the_largest() -> None:
    for x in ([1.0], [0.0, -0.0, -1.0], [-3.0, 2.0, 2.0], [1.0, math.inf, math.nan, math.nan], [-math.inf] * 3):
        first = 0
        for i, v in enumerate(x):
            if not math.isnan(x[first]) and (math.isnan(v) or v > x[first]):
                first = i
        assert reference("argmax", x=np.array(x))["best"] == [first]


def test_rms_norm_backward_is_the_slope_of_the_norm() -> None:
    x, dy, weight, step = DRAW.uniform(-2, 2, (3, 4)), DRAW.standard_normal((3, 4)), DRAW.standard_normal(4), 1e-6

    def value(x: list[list[float]], weight: list[float]) -> float:
        total = 0.0
        for row, slopes in zip(x, dy.tolist(), strict=True):
            scale = 1 / math.sqrt(sum(v * v for v in row) / 4 + 0.1)
            total += sum(g * v * scale * w for g, v, w in zip(slopes, row, weight, strict=True))
        return total

    got = reference("rms_norm_backward", x=x, dy=dy, weight=weight, eps=0.1, parts=2)
    for i, j in itertools.product(range(3), range(4)):
        up, down = x.copy(), x.copy()
        up[i, j] += step
        down[i, j] -= step
        slope = (value(up.tolist(), weight.tolist()) - value(down.tolist(), weight.tolist())) / (2 * step)
        assert got["dx"][i, j] == pytest.approx(slope, abs=1e-7)
    for j in range(4):
        one = [float(j == i) for i in range(4)]
        assert got["partial"][:, j].sum() == pytest.approx(value(x.tolist(), one))
    assert got["partial"][1, 0] == pytest.approx(dy[1, 0] * x[1, 0] / math.sqrt(sum(x[1] ** 2) / 4 + 0.1))


def test_layer_norm_of_each_row() -> None:
    x, weight, bias = DRAW.uniform(-5, 5, (4, 7)), DRAW.standard_normal(7), DRAW.standard_normal(7)
    got = reference("layer_norm", x=x, weight=weight, bias=bias, eps=1e-3)
    for row, y, mean, rstd in zip(x.tolist(), got["y"], got["mean"], got["rstd"], strict=True):
        centre = sum(row) / 7
        scale = 1 / math.sqrt(sum((v - centre) ** 2 for v in row) / 7 + 1e-3)
        assert (mean, rstd) == (pytest.approx(centre), pytest.approx(scale))
        expected = [(v - centre) * scale * w + b for v, w, b in zip(row, weight, bias, strict=True)]
        np.testing.assert_allclose(y, expected)


def test_layer_norm_backward_is_the_slope_of_the_norm() -> None:
    x, dy, weight, step = DRAW.uniform(-2, 2, (3, 4)), DRAW.standard_normal((3, 4)), DRAW.standard_normal(4), 1e-6

    def statistics(row: list[float]) -> tuple[float, float]:
        centre = sum(row) / 4
        return centre, 1 / math.sqrt(sum((v - centre) ** 2 for v in row) / 4 + 0.1)

    def value(x: list[list[float]], weight: list[float], bias: list[float]) -> float:
        total = 0.0
        for row, slopes in zip(x, dy.tolist(), strict=True):
            centre, scale = statistics(row)
            terms = zip(slopes, row, weight, bias, strict=True)
            total += sum(g * ((v - centre) * scale * w + b) for g, v, w, b in terms)
        return total

    mean, rstd = (np.array(each) for each in zip(*map(statistics, x.tolist()), strict=True))
    got = reference("layer_norm_backward", x=x, dy=dy, weight=weight, mean=mean, rstd=rstd, parts=2)
    for i, j in itertools.product(range(3), range(4)):
        up, down = x.copy(), x.copy()
        up[i, j] += step
        down[i, j] -= step
        slope = (
            (value(up.tolist(), weight.tolist(), [0] * 4) - value(down.tolist(), weight.tolist(), [0] * 4)) / step / 2
        )
        assert got["dx"][i, j] == pytest.approx(slope, abs=1e-7)
    for j in range(4):
        one = [float(j == i) for i in range(4)]
        assert got["dweight"][:, j].sum() == pytest.approx(value(x.tolist(), one, [0] * 4))
        assert got["dbias"][:, j].sum() == pytest.approx(value(x.tolist(), [0] * 4, one))
    assert got["dbias"][1, 0] == pytest.approx(dy[1, 0])


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


def test_prompt_attention_weighs_the_values_of_a_pieces_own_sequence() -> None:
    q, keys, values = (DRAW.standard_normal(shape) for shape in ((7, 4, 128), (5, 2, 16, 128), (5, 2, 16, 128)))
    tables, before = np.array([[3, 0], [4, -1]]), DRAW.standard_normal(q.shape)
    pieces = np.array([[4, 2, 0, 19], [0, 3, 1, 2], [9, 0, 9, 9]])
    expected = before.copy()  # rows 3 and 6 are in no piece
    for first, count, table, last in pieces[:2]:
        for i, h in np.ndindex(int(count), 4):
            seen = [(tables[table][t // 16], t % 16) for t in range(last - (count - 1 - i))]
            scores = [-0.7 * sum(q[first + i, h] * keys[block, h // 2, place]) for block, place in seen]
            powers = [math.exp(score - max(scores)) for score in scores]
            expected[first + i, h] = 0
            for power, (block, place) in zip(powers, seen, strict=True):
                expected[first + i, h] += power / sum(powers) * values[block, h // 2, place]
    given = {"q": q, "keys": keys, "values": values, "tables": tables, "pieces": pieces, "out": before}
    got = reference("prompt_attention", **given, scale=-0.7)["out"]
    np.testing.assert_allclose(got, expected, atol=1e-12)


def test_row_dot() -> None:
    a, b = DRAW.standard_normal((2, 4, 7))
    expected = [sum(x * z for x, z in zip(left, right, strict=True)) for left, right in zip(a, b, strict=True)]
    np.testing.assert_allclose(reference("row_dot", a=a, b=b)["y"], expected)


@pytest.mark.parametrize("past", [4, 0, -2])
def test_attention_backward_is_the_slope_of_attention(past: int) -> None:
    q, dout = (DRAW.standard_normal((2, 3, 5, 6)) for _ in range(2))
    k, v, before, step = *DRAW.standard_normal((2, 2, 4, 6)), DRAW.standard_normal(q.shape), 1e-6
    given = {"q": q, "k": k, "v": v, "past": past, "scale": -0.7}
    lse, delta = np.zeros((2, 2, 3, 5))
    out = reference("attention", **given)["out"]
    for h, g, i in np.ndindex(2, 3, 5):
        powers = [math.exp(-0.7 * sum(q[h, g, i, d] * k[h, j, d] for d in range(6))) for j in range(4) if j <= i + past]
        lse[h, g, i] = math.log(sum(powers)) if powers else -math.inf
        delta[h, g, i] = sum(dout[h, g, i, d] * out[h, g, i, d] for d in range(6))
    got = reference("attention_backward", **given, dout=dout, lse=lse, delta=delta, dq=before)
    got["dq"] = got["dq"] - before
    for name in ("q", "k", "v"):
        for at in np.ndindex(*given[name].shape):
            moved = given[name].copy()
            moved[at] += step
            rise = (dout * (reference("attention", **{**given, name: moved})["out"] - out)).sum()
            assert got[f"d{name}"][at] == pytest.approx(rise / step, abs=1e-4)


def test_cross_entropy_is_the_labels_share_of_the_powers() -> None:
    logits, labels = DRAW.uniform(-5, 5, (5, 4)), np.array([2, -100, 0, 7, -1])
    got = reference("cross_entropy", logits=logits, labels=labels, ignore_index=-100)
    for i, row in enumerate(logits.tolist()):
        total = sum(math.exp(v) for v in row)
        share = math.exp(row[labels[i]]) / total if labels[i] in range(4) else math.nan
        loss, lse = (0.0, 0.0) if labels[i] == -100 else (-math.log(share), math.log(total))
        assert (got["loss"][i], got["lse"][i]) == (pytest.approx(loss, nan_ok=True), pytest.approx(lse))


def test_cross_entropy_of_rows_that_are_not_finite() -> None:
    logits = np.array([[-np.inf, -np.inf], [np.inf, 0.0], [np.nan, 0.0], [0.0, -np.inf], [np.nan, 0.0]])
    got = reference("cross_entropy", logits=logits, labels=np.array([0, 0, 1, 1, 5]), ignore_index=5)
    np.testing.assert_array_equal(got["loss"], [np.nan, np.nan, np.nan, np.inf, 0.0])
    np.testing.assert_array_equal(got["lse"], [-np.inf, np.nan, np.nan, 0.0, 0.0])


def test_cross_entropy_backward_is_the_slope_of_the_loss() -> None:
    logits, dloss, step = DRAW.uniform(-2, 2, (3, 4)), DRAW.standard_normal(3), 1e-6
    labels = np.array([3, 1, 0])

    def loss(row: list[float], label: int) -> float:
        return math.log(sum(math.exp(v) for v in row)) - row[label]

    lse = np.array([math.log(sum(math.exp(v) for v in row)) for row in logits.tolist()])
    got = reference(
        "cross_entropy_backward", logits=logits, labels=labels, lse=lse, dloss=dloss, ignore_index=1
    )["dlogits"]  # fmt: skip
    for i, j in np.ndindex(3, 4):
        up, down = ([v + sign * step * (k == j) for k, v in enumerate(logits[i].tolist())] for sign in (1, -1))
        slope = dloss[i] * (loss(up, labels[i]) - loss(down, labels[i])) / (2 * step)
        assert got[i, j] == pytest.approx(0.0 if labels[i] == 1 else slope, abs=1e-8)


def test_adamw_takes_the_step_of_its_formula() -> None:
    p, m, g, v = *DRAW.standard_normal((3, 5)), DRAW.uniform(0, 1, 5)
    got = reference(
        "adamw", p=p, m=m, v=v, g=g, n=5, lr=0.1, beta1=0.9, beta2=0.8, eps=0.01, decay=0.2, correction1=0.1,
        correction2=0.36,
    )  # fmt: skip
    for i in range(5):
        mean, square = 0.9 * m[i] + 0.1 * g[i], 0.8 * v[i] + 0.2 * g[i] * g[i]
        step = 0.1 * (mean / 0.1) / (math.sqrt(square / 0.36) + 0.01)
        assert got["m"][i] == pytest.approx(mean)
        assert got["v"][i] == pytest.approx(square)
        assert got["p"][i] == pytest.approx(p[i] - 0.1 * 0.2 * p[i] - step)


@pytest.mark.parametrize(
    ("counter", "key", "words"),  # those of the generator's authors whose counter's upper half is 0, and another
    [(0, 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"), (2**64 - 1, 2**64 - 1, None), (7 << 33, 0xDEADBEEF << 20, None)],
)
def test_philox_is_ten_rounds_of_two_multiplications(counter: int, key: int, words: str | None) -> None:
    from gridstride.kernels.dropout.problem import philox

    c, k = [counter & 0xFFFFFFFF, counter >> 32, 0, 0], [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [second >> 32 ^ c[1] ^ k[0], second % 2**32, first >> 32 ^ c[3] ^ k[1], first % 2**32]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    assert philox(np.array([counter], np.uint64), key).tolist() == [c]
    assert words is None or words == " ".join(f"{each:08x}" for each in c)


def test_dropout_drops_by_each_elements_own_word() -> None:
    from gridstride.kernels.dropout.problem import philox

    x, seed = DRAW.standard_normal(11), np.array([-5, -2])
    x[3] = np.nan
    y = reference("dropout", x=x, seed=seed, n=11, drop=1 << 31, scale=2.0)["y"]
    for i in range(11):
        counter = np.array([(2**64 - 2 + i // 4) % 2**64], np.uint64)
        kept = philox(counter, 2**64 - 5)[0, i % 4] >= 1 << 31
        np.testing.assert_equal(y[i], 2 * x[i] if kept else 0.0)


def test_radix_sort_leaves_no_key_behind_a_smaller_one() -> None:
    keys = DRAW.integers(0, 1 << 32, 50)
    keys[:10] = keys[10]
    ordered = reference("radix_sort", keys=keys, n=50)["ordered"].tolist()
    assert all(a <= b for a, b in itertools.pairwise(ordered))
    assert sorted(ordered) == sorted(keys.tolist())
