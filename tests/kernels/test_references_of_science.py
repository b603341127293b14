"""Each reference of the numerical ladders against a few lines of plain loops."""

from __future__ import annotations

import cmath
import itertools
import math

import numpy as np
import pytest

from gridstride.judge.find import find
from gridstride.kernels.lattice_boltzmann_3d.problem import DIRECTIONS

DRAW = np.random.default_rng(0)


def reference(problem: str, **values: object) -> dict[str, np.ndarray]:
    return find(problem).problem.reference(values)


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 5)])
def test_conjugate_gradients_takes_four_steps_with_the_matrix_written_out(shape: tuple[int, int]) -> None:
    height, width, r = *shape, 0.6
    cells = height * width
    matrix = np.zeros((cells, cells))
    for i, j in np.ndindex(cells, cells):
        apart = abs(i // width - j // width) + abs(i % width - j % width)
        matrix[i, j] = {0: 1 + 4 * r, 1: -r}.get(apart, 0.0)
    b, x = DRAW.standard_normal(cells), DRAW.standard_normal(cells)
    got = reference("conjugate_gradients", b=b.reshape(shape), start=x.reshape(shape), r=r)["x"].ravel()
    g = b - matrix @ x
    p = g
    for _ in range(min(4, cells)):
        a = (g @ g) / (p @ matrix @ p)
        x, after = x + a * p, g - a * matrix @ p
        p, g = after + (after @ after) / (g @ g) * p, after
    np.testing.assert_allclose(got, x, atol=1e-12)


def test_fft_is_the_sum_over_all_numbers_of_a_row() -> None:
    x = DRAW.standard_normal((2, 1024, 2))
    X = reference("fft", x=x)["X"]
    for row, k in ((0, 0), (0, 1), (1, 511), (1, 512), (0, 1000)):
        total = sum(complex(*x[row, n]) * cmath.exp(-2j * math.pi * k * n / 1024) for n in range(1024))
        assert X[row, k] == pytest.approx([total.real, total.imag], abs=1e-9)


@pytest.mark.parametrize(("rows", "columns", "entries"), [(1, 1, 1), (4, 3, 9), (7, 5, 2), (3, 0, 4), (0, 3, 2)])
def test_spmv_adds_up_each_rows_products(rows: int, columns: int, entries: int) -> None:
    drawn = {name: DRAW.integers(-(1 << 31), 1 << 31, size) for name, size in
             (("offsets", rows + 1), ("indices", entries))}  # fmt: skip
    x, values = DRAW.standard_normal(columns), DRAW.standard_normal(entries)
    v = find("spmv").problem.arrange({**drawn, "values": values, "x": x})
    assert v["offsets"][-1] == (entries if rows and columns else 0)
    y = reference("spmv", **v, values=values, x=x)["y"]
    assert len(y) == rows
    for row in range(rows):
        total = 0.0
        for k in range(v["offsets"][row], v["offsets"][row + 1]):
            total += values[k] * x[v["indices"][k]]
        assert y[row] == pytest.approx(total)


def test_fft_long_is_the_sum_over_all_numbers_of_a_row() -> None:
    length = 1 << 20
    x, n = DRAW.standard_normal((2, length, 2)), np.arange(length)
    X = reference("fft_long", x=x)["X"]
    for row, k in ((0, 0), (0, 1), (1, 1023), (1, 1024), (0, 1_000_000)):
        total = ((x[row, :, 0] + 1j * x[row, :, 1]) * np.exp(-2j * math.pi / length * (k * n % length))).sum()
        assert X[row, k] == pytest.approx([total.real, total.imag], abs=1e-6)


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (5, 4)])
def test_median_is_the_fifth_of_nine(shape: tuple[int, int]) -> None:
    image = DRAW.integers(0, 256, shape)
    smooth = reference("median", image=image)["smooth"]
    for y, x in np.ndindex(*shape):
        rows, columns = (
            [min(max(at + d, 0), most - 1) for d in (-1, 0, 1)] for at, most in ((y, shape[0]), (x, shape[1]))
        )
        nine = sorted(int(image[r, c]) for r in rows for c in columns)
        assert smooth[y, x] == nine[4]


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (6, 5)])
def test_bilateral_weighs_by_distance_and_by_difference(shape: tuple[int, int]) -> None:
    image, near, alike = DRAW.standard_normal(shape), 0.15, 0.4
    smooth = reference("bilateral", image=image, near=near, alike=alike)["smooth"]
    for y, x in np.ndindex(*shape):
        total = weights = 0.0
        for dy, dx in itertools.product(range(-2, 3), repeat=2):
            other = image[min(max(y + dy, 0), shape[0] - 1), min(max(x + dx, 0), shape[1] - 1)]
            weight = math.exp(-near * (dy * dy + dx * dx)) * math.exp(-alike * (other - image[y, x]) ** 2)
            total += weight * other
            weights += weight
        assert smooth[y, x] == pytest.approx(total / weights)


def test_lattice_boltzmann_3d_streams_and_then_collides() -> None:
    """Pushed from where populations are, where the reference takes them in; all kinds of cells."""
    shape, omega, speed, force = (3, 4, 5), 1.1, 0.04, 0.002
    near = sorted(itertools.product((-1, 0, 1), repeat=3), key=lambda c: sum(map(abs, c)))[:19]  # 0, axes, diagonals
    pairs = [near[0], *(c for one in near[1:] if one > (0, 0, 0) for c in (one, tuple(-d for d in one)))]
    order = [pairs.index(c) for c in DIRECTIONS]
    w = [[1 / 3, 1 / 18, 1 / 36][sum(map(abs, c))] for c in pairs]
    f, kinds = DRAW.uniform(0.5, 1.5, (19, *shape)), DRAW.integers(0, 3, shape)
    after = reference("lattice_boltzmann_3d", f=f[order], kinds=kinds, omega=omega, speed=speed, force=force)["after"]
    g = np.full(f.shape, np.nan)
    for z, y, x, i in np.ndindex(*shape, 19):
        there = (z + pairs[i][2]) % 3, (y + pairs[i][1]) % 4, (x + pairs[i][0]) % 5
        against = pairs.index(tuple(-d for d in pairs[i]))
        if kinds[z, y, x] == 0:
            g[(i, *there)] = f[i, z, y, x]
        else:  # what moved against i ran into the wall, and comes back from it with i
            g[(i, *there)] = f[(against, *there)] + 6 * w[i] * pairs[i][0] * speed * (kinds[z, y, x] == 2)
    for z, y, x, place in np.ndindex(*shape, 19):
        i, came = order[place], g[:, z, y, x]
        rho = sum(came)
        u = [sum(p * c[axis] for p, c in zip(came, pairs, strict=True)) / rho for axis in range(3)]
        cu, square = sum(c * v for c, v in zip(pairs[i], u, strict=True)), sum(v * v for v in u)
        e = w[i] * rho * (1 + 3 * cu + 9 / 2 * cu**2 - 3 / 2 * square)
        expected = came[i] + omega * (e - came[i]) + 3 * w[i] * pairs[i][0] * force
        assert after[place, z, y, x] == pytest.approx(expected if kinds[z, y, x] == 0 else w[i])


@pytest.mark.parametrize(("shape", "low", "high"), [((1, 1), 5, 9), ((9, 7), 200, 500), ((12, 15), 100, 700)])
def test_canny_keeps_ridges_and_follows_them(shape: tuple[int, int], low: int, high: int) -> None:
    image = DRAW.integers(0, 256, shape)

    def slope(y: int, x: int) -> tuple[int, int]:
        total = [0, 0]
        for dy, dx in itertools.product((-1, 0, 1), repeat=2):
            pixel = int(image[min(max(y + dy, 0), shape[0] - 1), min(max(x + dx, 0), shape[1] - 1)])
            total[0] += dx * (2 - abs(dy)) * pixel
            total[1] += dy * (2 - abs(dx)) * pixel
        return total[0], total[1]

    strength = {place: sum(map(abs, slope(*place))) for place in np.ndindex(*shape)}
    weak = set()
    for y, x in strength:
        gx, gy = slope(y, x)
        tangent = 13573 / 32768
        if abs(gy) < tangent * abs(gx):
            down, across = 0, 1
        elif abs(gx) < tangent * abs(gy):
            down, across = 1, 0
        else:
            down, across = 1, 1 if gx * gy > 0 else -1
        before, behind = (strength.get((y + s * down, x + s * across), 0) for s in (-1, 1))
        if strength[y, x] > before and strength[y, x] >= behind and strength[y, x] >= low:
            weak.add((y, x))
    reached = [place for place in weak if strength[place] >= high]
    seen = set(reached)
    while reached:
        y, x = reached.pop()
        near = {(y + dy, x + dx) for dy, dx in itertools.product((-1, 0, 1), repeat=2)} & weak - seen
        seen |= near
        reached += near
    got = reference("canny", image=image, low=low, high=high)["edges"]
    assert {tuple(map(int, place)) for place in np.argwhere(got == 1)} == seen
    assert set(np.unique(got)) <= {0, 1}


def test_sdf_shader_goes_as_far_as_the_nearest_body_is() -> None:
    bodies = DRAW.uniform(-1, 1, (4, 8))
    bodies[:, 3:] = abs(bodies[:, 3:])
    camera, start = DRAW.uniform(0.2, 1, (4, 3)), DRAW.uniform(0, 2, (3, 5))
    got = reference("sdf_shader", bodies=bodies, camera=camera, start=start)

    def distance(p: list[float]) -> float:
        each = []
        for *centre, radius, a, b, c, wall in bodies.tolist():
            q = [abs(x - y) - half for x, y, half in zip(p, centre, (a, b, c), strict=True)]
            e = math.hypot(*(max(x, 0) for x in q)) + min(max(q), 0) - radius
            each.append(max(e, -wall - e))
        return min(each)

    for y, x in np.ndindex(3, 5):
        v = [f + ((2 * x + 1) / 5 - 1) * r + ((2 * y + 1) / 3 - 1) * d for f, r, d in camera[1:].T.tolist()]
        t = start[y, x]
        for _ in range(8):
            t += distance([e + t * w / math.hypot(*v) for e, w in zip(camera[0], v, strict=True)])
        assert got["depth"][y, x] == pytest.approx(t)
        p = [e + t * w / math.hypot(*v) for e, w in zip(camera[0], v, strict=True)]
        slope = 0.0
        for corner in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)):
            d = distance([a + s / 16 for a, s in zip(p, corner, strict=True)])
            slope += (0.48 * corner[0] + 0.64 * corner[1] + 0.6 * corner[2]) * d * 4
        assert got["light"][y, x] == pytest.approx(max(0.0, slope))


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (5, 4)])
def test_stable_fluids_carries_velocity_along_and_takes_out_what_piles_up(shape: tuple[int, int]) -> None:
    height, width = shape
    velocity, pressure, dt = 2 * DRAW.standard_normal((2, *shape)), DRAW.standard_normal(shape), 0.9
    got = reference("stable_fluids", velocity=velocity, pressure=pressure, dt=dt)
    u, v = velocity

    def at(field: np.ndarray, y: int, x: int) -> float:
        return float(field[y % height, x % width])

    def point(field: np.ndarray, y: float, x: float) -> float:
        """Every value by its nearness."""
        rows, columns = ((math.floor(c), math.floor(c) + 1) for c in (y, x))
        return sum((1 - abs(y - r)) * (1 - abs(x - c)) * at(field, r, c) for r in rows for c in columns)

    moved = np.empty_like(velocity)
    for y, x in np.ndindex(*shape):
        v_mean = sum(at(v, y + i, x - j) for i in (0, 1) for j in (0, 1)) / 4
        u_mean = sum(at(u, y - i, x + j) for i in (0, 1) for j in (0, 1)) / 4
        moved[0, y, x] = point(u, y - dt * v_mean, x - dt * at(u, y, x))
        moved[1, y, x] = point(v, y - dt * at(v, y, x), x - dt * u_mean)
    p = pressure
    for _ in range(4):
        before, p = p, np.empty(shape)
        for y, x in np.ndindex(*shape):
            b = at(moved[0], y, x + 1) - at(moved[0], y, x) + at(moved[1], y + 1, x) - at(moved[1], y, x)
            around = sum(at(before, y + i, x + j) for i, j in ((0, 1), (1, 0), (0, -1), (-1, 0)))
            p[y, x] = before[y, x] + (around - 4 * before[y, x] - b) / 5
    np.testing.assert_allclose(got["pressure_after"], p, atol=1e-12)
    for y, x in np.ndindex(*shape):
        assert got["velocity_after"][0, y, x] == pytest.approx(moved[0, y, x] - p[y, x] + at(p, y, x - 1))
        assert got["velocity_after"][1, y, x] == pytest.approx(moved[1, y, x] - p[y, x] + at(p, y - 1, x))


def test_barnes_hut_walks_on_or_over_what_is_within() -> None:
    problem = find("barnes_hut").problem
    drawn = {"bodies": DRAW.standard_normal((9, 4)), "nodes": DRAW.standard_normal((40, 4)), "cells": np.zeros((40, 4)),
             "next": np.zeros(40), "opening": 0.7, "softening": 0.2}  # fmt: skip
    v = problem.arrange({name: np.asarray(value, np.float32) for name, value in drawn.items()})
    wide = {name: np.asarray(v[name], np.float64) for name in drawn if name != "next"}
    got = reference("barnes_hut", **wide, next=v["next"])["accelerations"]
    opened = 0
    for i, (*x, _) in enumerate(v["bodies"].tolist()):
        k, total = 0, [0.0, 0.0, 0.0]
        while k < v["next"][0]:
            *middle, square = v["cells"][k].tolist()
            if math.dist(middle, x) ** 2 >= v["opening"] * square:
                *centre, mass = v["nodes"][k].tolist()
                r = math.sqrt(math.dist(centre, x) ** 2 + v["softening"])
                total = [a + mass * (c - p) / r**3 for a, c, p in zip(total, centre, x, strict=True)]
                k = int(v["next"][k])
            else:
                opened, k = opened + 1, k + 1
        assert got[i] == pytest.approx(total)
    assert opened > 20
