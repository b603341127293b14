"""Voltages of type K thermocouples as temperatures: a polynomial of degree 9 for each sample, 0 to 500 °C.

    celsius = c1 mv + c2 mv^2 + … + c9 mv^9      mv from 0 to 20.644 millivolts

with c1 to c9 = 25.08355, 0.07860106, -0.2503131, 0.0831527, -0.01228034, 0.0009804036, -0.0000441303, 0.000001057734,
-0.00000001052755 (NIST ITS-90, type K).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gridstride.judge.problem import Array, Problem, Values, array, size

COEFFICIENTS = (0.0, 2.508355e1, 7.860106e-2, -2.503131e-1, 8.315270e-2, -1.228034e-2, 9.804036e-4, -4.413030e-5,
                1.057734e-6, -1.052755e-8)  # fmt: skip
"""Degrees Celsius per millivolt to the power of the place: NIST ITS-90 thermocouple database, type K, to 20.644 mV."""
HIGHEST = 20.644  # millivolts, at 500 °C


def reference(v: Values) -> dict[str, Array]:
    """The powers of the voltage, each with its coefficient, added up."""
    return {"celsius": sum(c * v["mv"] ** k for k, c in enumerate(COEFFICIENTS)) + np.zeros_like(v["mv"])}


def magnitude(v: Values) -> dict[str, Array]:
    """Signs take turns in the sum."""
    return {"celsius": sum(abs(c * v["mv"] ** k) for k, c in enumerate(COEFFICIENTS)) + np.zeros_like(v["mv"])}


def in_range(v: Values) -> dict[str, Any]:
    """The polynomial holds from 0 to 20.644 mV."""
    return {"mv": np.minimum(8 * abs(v["mv"]), np.float32(HIGHEST))}


problem = Problem(
    name="thermocouple",
    title="Voltages of thermocouples as temperatures, float32",
    parameters=(array("mv", "float32", "n"), array("celsius", "float32", "n", role="out"), size("n")),
    reference=reference,
    magnitude=magnitude,
    terms="20",
    arrange=in_range,
    zeros=("n",),
    public=({"n": 1024}, {"n": 1000}, {"n": 4099}, {"n": 6}, {"n": 1}),
    largest={"n": 20_000},
    widest={"n": 3_000_000},
    tiles=(4, 32, 256, 1024),
    observed={"n": 1 << 16},
    timed={"n": 1 << 26},
    flops="18*n",
    bytes="8*n",
    pieces="n",
)
