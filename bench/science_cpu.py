"""Ladders of science on the virtual GPU beside NumPy on the same core: `python bench/science_cpu.py [--only PROBLEM]…`.

Each rung that the virtual GPU runs, against NumPy in float32, twice: by the problem's own expressions, as most people
write it, and as somebody does who counts passes through memory, with no array allocated within a step and results into
arrays that are there. All get the same random data and one core; results are checked against the problem's reference.
Medians of rounds in turn. Prints a table, keeps results/science_cpu.json.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import numpy as np
from common import Row, machine, on_cores, save, table

import gridstride as gs
from gridstride.device.arrays import DeviceArray
from gridstride.judge.execution.runnable import Runnable, build
from gridstride.judge.find import find
from gridstride.judge.problem import Array, Case, Problem, Values
from gridstride.judge.reference.prepared_cases import prepare
from gridstride.judge.reference.tolerance import Expected
from gridstride.kernels.heat.problem import STEPS
from gridstride.kernels.lattice_boltzmann.problem import CX, CY, FLUID, MOVING, OPEN, OPPOSITE, WALL, WEIGHTS

AIM, ROUNDS = 3.0, 5
SIZES = {"heat": {"H": 2048, "W": 2048}, "lattice_boltzmann": {"H": 512, "W": 1024}}


class Heat:
    """Four steps: eight passes each, by two fields and two arrays of the inside."""

    def __init__(self, v: Values) -> None:
        self.u, self.r = v["u"], np.float32(v["r"])
        self._fields = [self.u.copy(), self.u.copy()]
        self._sum, self._own = (np.empty_like(self.u[1:-1, 1:-1]) for _ in range(2))

    def __call__(self) -> Array:
        old: Array = self.u
        for k in range(STEPS):
            new, inside = self._fields[k % 2], old[1:-1, 1:-1]
            np.add(old[:-2, 1:-1], old[2:, 1:-1], out=self._sum)
            self._sum += old[1:-1, :-2]
            self._sum += old[1:-1, 2:]
            np.multiply(inside, np.float32(-4), out=self._own)
            self._sum += self._own
            self._sum *= self.r
            np.add(inside, self._sum, out=new[1:-1, 1:-1])
            old = new
        return old


class LatticeBoltzmann:
    """A step: populations are copied to where they go by rows and columns, walls are put right by number."""

    def __init__(self, v: Values) -> None:
        self.f, self.v = v["f"], v
        kinds = v["kinds"]
        self._came = np.empty_like(self.f)
        self._after: Array = np.empty_like(self.f)
        self._work = [np.empty_like(self.f[0]) for _ in range(6)]
        sources = [np.roll(kinds, (cy, cx), (0, 1)) for cx, cy in zip(CX, CY, strict=True)]
        self._back = [np.flatnonzero((source == WALL) | (source == MOVING)) for source in sources]
        self._moved = [np.flatnonzero(source == MOVING) for source in sources]
        self._held = np.flatnonzero((kinds == WALL) | (kinds == MOVING)), np.flatnonzero(kinds == OPEN)
        assert FLUID not in (WALL, MOVING, OPEN)

    def _stream(self) -> None:
        speed = self.v["speed"]
        for i, (cx, cy) in enumerate(zip(CX, CY, strict=True)):
            came, own = self._came[i], self.f[i]
            for to, origin in _shifted(cy):
                for to_x, origin_x in _shifted(cx):
                    came[to, to_x] = own[origin, origin_x]
            flat, opposite = came.reshape(-1), self.f[OPPOSITE[i]].reshape(-1)
            flat[self._back[i]] = opposite[self._back[i]]
            if cx:
                flat[self._moved[i]] += np.float32(6 * WEIGHTS[i] * cx * speed)

    def __call__(self) -> Array:
        self._stream()
        g, v = self._came, self.v
        rho, ux, uy, along, square, total = self._work
        np.add(g[0], g[1], out=rho)
        for i in range(2, 9):
            rho += g[i]
        for axis, velocity in ((CX, ux), (CY, uy)):
            velocity[...] = 0
            for i in range(9):
                if axis[i]:
                    (np.add if axis[i] > 0 else np.subtract)(velocity, g[i], out=velocity)
            velocity /= rho
        np.multiply(ux, ux, out=square)
        np.multiply(uy, uy, out=along)
        square += along
        square *= np.float32(-1.5)
        square += np.float32(1)
        omega, force = np.float32(v["omega"]), v["force"]
        for i, weight in enumerate(WEIGHTS):
            after = self._after[i]
            if CX[i] or CY[i]:
                np.multiply(ux, np.float32(CX[i]), out=along)
                if CY[i]:
                    (np.add if CY[i] > 0 else np.subtract)(along, uy, out=along)
                np.multiply(along, np.float32(4.5), out=total)
                total += np.float32(3)
                total *= along
                total += square
                total *= rho
            else:
                np.multiply(square, rho, out=total)
            total *= np.float32(omega * weight)
            np.multiply(g[i], 1 - omega, out=after)
            after += total
            if CX[i]:
                after += np.float32(3 * weight * CX[i] * force)
            flat = after.reshape(-1)
            flat[self._held[0]] = np.float32(weight)
            cu = CX[i] * v["speed"]
            flat[self._held[1]] = np.float32(weight * (1 + 3 * cu + 4.5 * cu * cu - 1.5 * v["speed"] ** 2))
        return self._after


def _shifted(by: int) -> list[tuple[slice, slice]]:
    """Where a periodic axis goes that moves by -1, 0 or 1: (to, from), the whole of it and the one that comes round."""
    if by == 0:
        return [(slice(None), slice(None))]
    if by > 0:
        return [(slice(1, None), slice(None, -1)), (slice(0, 1), slice(-1, None))]
    return [(slice(None, -1), slice(1, None)), (slice(-1, None), slice(0, 1))]


NUMPY: dict[str, Callable[[Values], Callable[[], Array]]] = {"heat": Heat, "lattice_boltzmann": LatticeBoltzmann}


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def checked(got: Array, expected: Expected, who: str) -> None:
    """AssertionError for an element beyond what the problem allows."""
    assert expected.bound is not None
    assert (abs(got - expected.values) <= expected.bound).all(), f"{who} is wrong"


def launched(
    runnable: Runnable, problem: Problem, case: Case, v: Values, shape_of: tuple[int, ...]
) -> tuple[Callable[[], object], DeviceArray]:  # fmt: skip
    """A launch on device arrays, and its result."""
    arrays = {name: gs.to_device(value) for name, value in v.items() if isinstance(value, np.ndarray)}
    out = problem.outputs[0].name
    arrays[out] = gs.zeros(shape_of)
    given = {**v, **case.sizes, **arrays}
    words = [given[each.name] for each in problem.parameters]
    shape = runnable.shape(case.sizes)
    launch = runnable.kernel[shape.grid, shape.block, shape.shared]
    return (lambda: launch(*words)), arrays[out]


def measured(name: str) -> list[dict[str, Any]]:
    """Of each rung: its seconds and NumPy's, round by round."""
    folder = find(name)
    problem, case = folder.problem, Case(SIZES[name], "normal", 7, hidden=False)
    (prepared,) = prepare(problem, [case])
    (expected,) = prepared.expected.values()
    numpy = NUMPY[name](prepared.inputs)
    checked(numpy(), expected, f"{name} by NumPy")
    single = {key: np.float32(value) if isinstance(value, float) else value for key, value in prepared.inputs.items()}
    rows = []
    with on_cores(1), gs.use(gs.VirtualGPU(workers=1)) as gpu:
        for file in [each for each in folder.rungs() if each.runs_on(gpu.properties)]:
            launch, result = launched(build(problem, file, gpu), problem, case, prepared.inputs, expected.values.shape)
            for _ in range(3):  # by then the code that is compiled in the background is there
                launch()
            ways = (launch, numpy, lambda: problem.reference(single))
            rounds = [tuple(map(seconds, ways)) for _ in range(ROUNDS)]
            checked(result.numpy(), expected, f"{name}/{file.name}")
            virtual, careful, plain = (statistics.median(each) for each in zip(*rounds, strict=True))
            rows.append({"problem": name, "rung": file.name, "sizes": case.sizes, "seconds": virtual,
                         "numpy_seconds": careful, "expressions_seconds": plain, "times": careful / virtual,
                         "times_expressions": plain / virtual})  # fmt: skip
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="PROBLEM", choices=SIZES)
    words = parser.parse_args()
    started, found, rows = machine(), list[dict[str, Any]](), list[Row]()
    for name in words.only or SIZES:
        new = measured(name)
        found += new
        best = max(each["times"] for each in new)
        for each in new:
            target, met = (f"{AIM:g}x NumPy", best >= AIM) if each["times"] == best else ("", None)
            figure = f"{each['times']:.2f}x, {each['times_expressions']:.2f}x its expressions"
            rows.append(Row(f"{name}/{each['rung']}", figure, target, met))
    print(table(rows))
    print(save("science_cpu", {"rows": found}, started=started))
    return 0


if __name__ == "__main__":
    sys.exit(main())
