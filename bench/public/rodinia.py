"""Rodinia's programs with small inputs, and what Python says comes out of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from main_program import Main, c_random

MODERN = ("cudaThreadSynchronize=cudaDeviceSynchronize",)
"""CUDA 13 has dropped the old name."""
Array = np.ndarray[Any, Any]


def programs(root: Path) -> Iterator[Main]:
    """Those that compile with CUDA 13; texture references it has no more."""
    cuda = root / "cuda"
    make = partial(Main, define=MODERN)
    lud = cuda / "lud"
    yield make("lud", lud / "cuda", ("lud.cu", "lud_kernel.cu", "../common/common.c"), include=(str(lud / "common"),),
               runs=(("-s", "64", "-v"),), check=lud_is_right)  # fmt: skip
    yield make("bfs", cuda / "bfs", ("bfs.cu",), runs=(("graph",),), inputs={"graph": graph()}, check=bfs_is_right)
    yield make("gaussian", cuda / "gaussian", ("gaussian.cu",), runs=(("-s", "16"),), check=gaussian_is_right,
               edits=((r"deviceProp\.\s*(clockRate|deviceOverlap)", "0"), (r"verbose = 0", "verbose = 1")))  # fmt: skip
    yield make("pathfinder", cuda / "pathfinder", ("pathfinder.cu",), runs=(("400", "20", "4"),),
               define=(*MODERN, "BENCH_PRINT"), check=pathfinder_is_right)  # fmt: skip
    heat, power = (90 + 10 * values(4096, 1)), 0.001 * values(4096, 2)
    yield make("hotspot", cuda / "hotspot", ("hotspot.cu",), runs=(("64", "2", "4", "heat", "power", "out"),),
               inputs={"heat": text(heat), "power": text(power)},
               check=partial(hotspot_is_right, heat, power))  # fmt: skip
    yield make("nw", cuda / "nw", ("needle.cu",), runs=(("64", "10"),), define=(*MODERN, "TRACEBACK"),
               check=partial(nw_is_right, cuda / "nw" / "needle.cu"))  # fmt: skip
    yield make("srad_v2", cuda / "srad" / "srad_v2", ("srad.cu",),
               runs=(("64", "64", "0", "31", "0", "31", "0.5", "2"),), unchecked="has no check of its own")  # fmt: skip
    yield make("hotspot3D", cuda / "hotspot3D", ("3D.cu",), runs=(("64", "8", "4", "power", "heat", "out"),),
               inputs={"heat": text(np.tile(heat, 8)), "power": text(np.tile(power, 8))},
               check=hotspot_3d_is_right)  # fmt: skip
    yield from others(cuda, make)
    yield Main("kmeans", cuda / "kmeans",
               ("kmeans_cuda.cu", "cluster.c", "getopt.c", "kmeans.c", "kmeans_clustering.c", "rmse.c"), cuda11=True,
               runs=(("-i", "points", "-o", "-m", "4", "-n", "4"),), inputs={"points": points()},
               check=kmeans_is_right)  # fmt: skip
    yield Main("hybridsort", cuda / "hybridsort", (), theirs="includes OpenGL's headers")
    yield Main("leukocyte", cuda / "leukocyte", (), theirs="needs a film that the collection does not have")
    yield Main("mummergpu", cuda / "mummergpu", (), theirs="calls read() without unistd.h")


def others(cuda: Path, make: partial[Main]) -> Iterator[Main]:
    """Those whose files, seeds and places of files are edited too."""
    places = (30 + 40 * values(300, 3), 60 + 90 * values(300, 4))
    lines = "".join(f"{'a place of no name':28}{a:5.2f}{b:5.1f}{'':10}\n" for a, b in zip(*places, strict=True))
    yield make("nn", cuda / "nn", ("nn_cuda.cu",), runs=(("list", "-r", "100", "-lat", "30", "-lng", "90"),),
               inputs={"list": b"places\n", "places": lines.encode()}, check=partial(nn_is_right, lines))  # fmt: skip
    wrapper, parts = "kernel/kernel_gpu_cuda_wrapper", ("num/num", "timer/timer", "device/device")
    yield make("lavaMD", cuda / "lavaMD",
               ("main.c", f"{wrapper}.cu", "util/num/num.c", "util/timer/timer.c", "util/device/device.cu"),
               headers=("main.h", f"{wrapper}.h", "kernel/kernel_gpu_cuda.cu", *(f"util/{each}.h" for each in parts)),
               edits=((r"srand\(time\(NULL\)\)", "srand(7)"),), define=(*MODERN, "OUTPUT"),
               runs=(("-boxes1d", "2"),), check=lava_is_right)  # fmt: skip
    image = np.random.default_rng(5).integers(1, 256, (502, 458))
    pgm = "P2\n458 502\n255\n" + "\n".join(" ".join(map(str, row)) for row in image) + "\n"
    yield make("srad_v1", cuda / "srad" / "srad_v1", ("main.cu",), edits=((r'"[./]+data/srad/image.pgm"', '"image"'),),
               runs=(("2", "0.5", "64", "64"),), inputs={"image": pgm.encode()},
               check=partial(srad_is_right, image[:64, :64]))  # fmt: skip
    symbols = np.random.default_rng(6).geometric(0.2, 1 << 16).clip(1, 255).astype("u1").tobytes()
    yield make("huffman", cuda / "huffman", ("main_test_cu.cu", "stats_logger.cpp", "cpuencode.cpp"),
               headers=("hist.cu", "load_data.h"), edits=((r"prop\.deviceOverlap", "1"),), runs=(("symbols",),),
               inputs={"symbols": symbols}, define=(*MODERN, "cudaThreadExit=cudaDeviceReset"))  # fmt: skip


def nn_is_right(lines: str, folder: Path, said: str) -> str:
    """The distances of the hundred nearest, in order."""
    written = np.array([[float(line[28:33]), float(line[33:38])] for line in lines.splitlines()])
    found = np.array([float(each) for each in re.findall(r"Distance=([\d.]+)", said)])
    return same(found, np.sort(np.hypot(*(written - (30, 90)).T))[:100], 1e-4)


def lava_is_right(folder: Path, said: str) -> str:
    """Forces between the particles of eight boxes, each of which is a neighbour of all others."""
    drawn = (c_random(5 * 800, seed=7) % 10 + 1) / 10
    at, charge = drawn[:3200].reshape(800, 4), drawn[3200:]
    v, x = at[:, :1], at[:, 1:]
    strength = np.exp(-0.5 * (v + v.T - x @ x.T)) * charge
    forces = 2 * (strength.sum(1)[:, None] * x - strength @ x)
    found = np.array((folder / "result.txt").read_text().replace(",", " ").split(), float).reshape(800, 4)
    return same(found, np.concatenate([strength.sum(1)[:, None], forces], 1), 1e-5)


def srad_is_right(image: Array, folder: Path, said: str) -> str:
    """Two steps of the diffusion, written as whole numbers."""
    j = np.exp(image / 255)
    for _ in range(2):
        spread = j.var() / j.mean() ** 2
        edged = np.pad(j, 1, mode="edge")
        steps = [edged[a : a + 64, b : b + 64] - j for a, b in ((0, 1), (2, 1), (1, 0), (1, 2))]
        gradient, laplacian = sum(step**2 for step in steps) / j**2, sum(steps) / j
        q = (gradient / 2 - laplacian**2 / 16) / (1 + laplacian / 4) ** 2
        c = np.clip(1 / (1 + (q - spread) / (spread * (1 + spread))), 0, 1)
        south, east = np.pad(c, 1, mode="edge")[2:, 1:-1], np.pad(c, 1, mode="edge")[1:-1, 2:]
        j = j + 0.25 * 0.5 * (c * steps[0] + south * steps[1] + c * steps[2] + east * steps[3])
    found = np.array((folder / "image_out.pgm").read_text().split()[4:], float)
    return same(found, (np.log(j) * 255).ravel(), 1.02)  # cut to whole numbers


def values(count: int, seed: int) -> Array:
    return np.random.default_rng(seed).random(count)


def groups() -> Array:
    """400 points of 6 numbers around four places that lie far apart: (place, point of the place, number)."""
    return 10 * values(2400, 4).reshape(4, 100, 6) + 30 * np.arange(4).reshape(4, 1, 1)


def points() -> bytes:
    """In turn from each place, so that the first four, which kmeans begins with, are of all."""
    rows = np.swapaxes(groups(), 0, 1).reshape(400, 6)
    return "".join(f"{i} {' '.join(f'{x:.4f}' for x in row)}\n" for i, row in enumerate(rows)).encode()


def kmeans_is_right(folder: Path, said: str) -> str:
    """The middle of each place, to the two digits that it prints."""
    found = re.findall(r"^\d+:((?: [\d.]+)+)", said, re.MULTILINE)
    numbers = np.array([line.split() for line in found], float)
    if numbers.shape != (4, 6):
        return f"no four centres: {said[-200:]}"
    return same(numbers[np.argsort(numbers[:, 0])].ravel(), groups().mean(1).ravel(), 0.006)


def text(numbers: Array) -> bytes:
    return "".join(f"{each:.6f}\n" for each in numbers).encode()


def lud_is_right(folder: Path, said: str) -> str:
    """The program multiplies its factors and names what differs."""
    return "" if ">>>Verify<<<<" in said and "dismatch" not in said else f"its own check: {said[-200:]}"


def graph(nodes: int = 2000, degree: int = 4) -> bytes:
    rng = np.random.default_rng(3)
    to = rng.integers(0, nodes, nodes * degree)
    lines = [str(nodes), *(f"{node * degree} {degree}" for node in range(nodes)), "", "0", "", str(nodes * degree)]
    return "\n".join([*lines, *(f"{each} 1" for each in to), ""]).encode()


def bfs_is_right(folder: Path, said: str) -> str:
    """The distance of each node from the first."""
    words = graph().split()
    nodes, to = int(words[0]), np.array([int(each) for each in words[2 * int(words[0]) + 3 :: 2]])
    cost = np.full(nodes, -1)
    frontier, cost[0], step = {0}, 0, 0
    while frontier:
        step += 1
        frontier = {int(each) for node in frontier for each in to[4 * node : 4 * node + 4] if cost[each] < 0}
        cost[list(frontier)] = step
    found = [int(line.rpartition("cost:")[2]) for line in (folder / "result.txt").read_text().splitlines()]
    return same(np.array(found), cost)


def gaussian_is_right(folder: Path, said: str) -> str:
    """The system that the program makes, solved."""
    i = np.arange(16)
    found = said.rpartition("The final solution is:")[2].split("\n\n")[0].split()[:16]
    expected = np.linalg.solve(10 * np.exp(-0.01 * abs(i[:, None] - i)), np.ones(16))
    return same(np.array(found, float), expected, 0.006)


def pathfinder_is_right(folder: Path, said: str) -> str:
    """The cheapest way through the wall that the program prints: 18,000 characters, of which none may be cut."""
    rows = [line.split() for line in said.splitlines() if len(line.split()) == 400]
    wall, found = np.array(rows[:20], int), np.array(rows[-1], int)
    best = wall[0]
    for row in wall[1:]:
        edged = np.pad(best, 1, constant_values=1 << 20)
        best = row + np.minimum(np.minimum(edged[:-2], edged[1:-1]), edged[2:])
    return same(found, best)


def nw_is_right(source: Path, folder: Path, said: str) -> str:
    """The way back through the table of two sequences of 64, which rand() makes from the seed 7."""
    size, penalty = 65, 10
    scores = re.findall(r"blosum62.*?=\s*\{(.*?)\};", source.read_text(), re.DOTALL)[0]
    blosum = np.array(re.findall(r"-?\d+", scores), int).reshape(24, 24)
    drawn = c_random(2 * (size - 1), seed=7) % 10 + 1
    match = np.zeros((size, size), int)
    match[1:, 1:] = blosum[drawn[: size - 1]][:, drawn[size - 1 :]]
    table = np.zeros((size, size), int)
    table[0], table[:, 0] = -penalty * np.arange(size), -penalty * np.arange(size)
    for i in range(1, size):
        for j in range(1, size):
            steps = table[i - 1, j - 1] + match[i, j], table[i, j - 1] - penalty, table[i - 1, j] - penalty
            table[i, j] = max(steps)
    i = j = size - 2
    way = [table[i, j]]
    while i and j:  # at an edge it reads memory that nothing was written to
        before = table[i - 1, j - 1], table[i, j - 1], table[i - 1, j]
        after = before[0] + match[i, j], before[1] - penalty, before[2] - penalty
        value = max(after)
        for old, new in zip(before, after, strict=True):  # as the program does: a value may be taken for another step's
            value = old if value == new else value
        way.append(value)
        step = before.index(value)
        i, j = i - (step != 1), j - (step != 2)
    words = (folder / "result.txt").read_text().rpartition(":")[2].split()
    return same(np.array(words[: len(way)], int), np.array(way))


def hotspot_is_right(heat: Array, power: Array, folder: Path, said: str) -> str:
    """Four steps of the same grid."""
    t, p, side = heat.reshape(64, 64), power.reshape(64, 64), 0.016 / 64
    capacity = 0.5 * 1.75e6 * 0.0005 * side * side
    across, up = 1 / (2.0 * 100 * 0.0005), 0.0005 / (100 * side * side)
    step = 0.001 / (3.0e6 / (0.5 * 0.0005 * 1.75e6))
    for _ in range(4):
        edged = np.pad(t, 1, mode="edge")
        around = edged[:-2, 1:-1] + edged[2:, 1:-1] + edged[1:-1, :-2] + edged[1:-1, 2:] - 4 * t
        t = t + step / capacity * (p + around / across + (80.0 - t) / up)
    found = [float(line.split()[1]) for line in (folder / "out").read_text().splitlines()]
    return same(np.array(found), t.ravel(), 2e-3)


def hotspot_3d_is_right(folder: Path, said: str) -> str:
    """The program computes it on the CPU too and prints how far apart the two are."""
    accuracy = float(said.partition("Accuracy:")[2].split()[0])
    return "" if accuracy < 1e-3 else f"accuracy {accuracy}"


def same(found: Array, expected: Array, tolerance: float = 0) -> str:
    if found.shape != expected.shape:
        return f"{found.size} values, not {expected.size}"
    worst = abs(found - expected).max()
    return "" if worst <= tolerance else f"off by {worst:g}"
