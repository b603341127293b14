"""Ising: energy and magnetisation as Onsager and Yang solved them, by the rungs on the virtual GPU."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gridstride as gs
from gridstride.gallery.rung import Rung
from gridstride.gallery.scenes.ising import chances
from gridstride.judge.find import find

PROBLEM = find("ising").problem
RUNGS = [file.name for file in find("ising").rungs()]


def elliptic(k: float) -> float:
    """Complete elliptic integral of the first kind, by the arithmetic-geometric mean."""
    a, b = 1.0, math.sqrt(1 - k * k)
    while abs(a - b) > 1e-14:
        a, b = (a + b) / 2, math.sqrt(a * b)
    return math.pi / (2 * a)


def energy_of_onsager(temperature: float) -> float:
    """Per spin (Onsager 1944)."""
    x = 2 / temperature
    k = 2 * math.sinh(x) / math.cosh(x) ** 2
    return -(1 + 2 / math.pi * (2 * math.tanh(x) ** 2 - 1) * elliptic(k)) / math.tanh(x)


def magnetisation_of_yang(temperature: float) -> float:
    """Per spin, below the critical temperature (Yang 1952)."""
    return (1 - math.sinh(2 / temperature) ** -4) ** (1 / 8)


def sampled(size: int, temperature: float, name: str | None, *, settle: int, sweeps: int) -> tuple[float, float]:
    """Mean energy and magnetisation of a spin over so many sweeps, from all spins one way on."""
    energies, magnetisations = [], []
    with gs.use("virtual"):
        rung = Rung("ising", {"H": size, "W": size}, name)
        spins, after = gs.zeros((size, size), "uint8"), gs.empty((size, size), "uint8")
        for sweep in range(settle + sweeps):
            for colour in (0, 1):
                rung(spins, after, size, size, colour, *chances(temperature), 2 * sweep + colour, 5)
                spins, after = after, spins
            if sweep >= settle:
                s = 1.0 - 2.0 * spins.numpy()
                energies.append(-(s * np.roll(s, 1, 0) + s * np.roll(s, 1, 1)).mean())
                magnetisations.append(s.mean())
    return float(np.mean(energies)), float(np.mean(magnetisations))


def test_the_formula_has_the_values_that_are_known() -> None:
    assert energy_of_onsager(2 / math.log(1 + math.sqrt(2)) + 1e-9) == pytest.approx(-math.sqrt(2), abs=1e-6)
    assert energy_of_onsager(0.5) == pytest.approx(-2, abs=1e-5)
    assert energy_of_onsager(50.0) == pytest.approx(-2 / 50, rel=1e-2)


def test_energy_and_magnetisation_below_the_critical_temperature() -> None:
    energy, magnetisation = sampled(128, 2.0, None, settle=150, sweeps=250)
    assert energy == pytest.approx(energy_of_onsager(2.0), abs=0.01)
    assert magnetisation == pytest.approx(magnetisation_of_yang(2.0), abs=0.01)


def test_above_it_the_order_of_the_start_is_forgotten() -> None:
    energy, magnetisation = sampled(128, 3.0, None, settle=100, sweeps=150)
    assert energy == pytest.approx(energy_of_onsager(3.0), abs=0.01)
    assert abs(magnetisation) < 0.03


def test_every_rung_makes_the_same_magnet() -> None:
    assert len({sampled(24, 2.3, name, settle=0, sweeps=12) for name in RUNGS}) == 1


@pytest.mark.parametrize(("kind", "turned"), [("a chance at a word", 0), ("a chance above a word", 1)])
def test_a_chance_next_to_the_word_of_a_cell_decides_on_that_cell_alone(kind: str, turned: int) -> None:
    """Between a chance at a word and one above it the cell of that word turns, and no other that the chance decides."""
    v = {"spins": np.zeros((24, 64), np.uint8), "colour": 1, "three": 0, "four": 0, "half_sweep": 3, "seed": 11}
    v |= PROBLEM.special[kind](v, np.random.default_rng(5))
    lower = {**v, "three": v["three"] - turned, "four": v["four"] - turned}
    higher = {**lower, "three": lower["three"] + 1, "four": lower["four"] + 1}
    after = [PROBLEM.reference({**each, "spins": v["spins"].astype(np.int64)})["after"] for each in (lower, higher)]
    assert (after[0] != after[1]).sum() == 1
