"""Rungs as the ops compile them, for other dtypes and widths than their problems have, on the virtual GPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gridstride.device.choice import use
from gridstride.device.modules.module import cuda
from gridstride.judge.find import find
from gridstride.judge.header import read_kernel
from gridstride.kernels.torch_op import ceil_div, lanes_of_rows
from gridstride.virtual.gpu import VirtualGPU

Array = np.ndarray
ROWS = 6
WIDTHS = [1, 75, 512, 1000, 2048, 8192]
"""At 4 bytes: a warp for each row up to 512 elements, then 128 threads, 256 and 512."""
ROUNDING = {"float": 3e-6, "__half": 2e-3}

every_element = pytest.mark.parametrize("element", ROUNDING)
every_width = pytest.mark.parametrize("width", WIDTHS)


@pytest.fixture(scope="module")
def gpu() -> VirtualGPU:
    return VirtualGPU("h200", sanitize=True, time_limit=20)


def draw(element: str, *shape: int, seed: int = 0) -> Array:
    values = np.random.default_rng(seed).standard_normal(shape)
    return values.astype(np.float32 if element == "float" else np.float16)


def launch(
    gpu: VirtualGPU, folder: str, rung: str, grid: int, block: int, *args: object, shared: int = 0, **macros: object
) -> None:
    """One launch of a rung compiled with macros; a finding of the sanitizer is an error."""
    path: Path = find(folder).path / "rungs" / f"{rung}.cu"
    file = read_kernel(path)
    with use(gpu):
        module = cuda(file.source, [f"-D{name}={value}" for name, value in macros.items()], filename=file.filename)
        run = module[file.entry].observe(grid, block, shared=shared)(*args)
    assert run.findings == ()


def assert_near(got: Array, expected: Array, element: str) -> None:
    np.testing.assert_allclose(
        got.astype(float), expected, atol=ROUNDING[element] * max(1, abs(expected).max()), rtol=0
    )


def rows_launched(
    gpu: VirtualGPU, folder: str, rung: str, element: str, width: int, args: Callable[[], tuple[object, ...]]
) -> None:
    lanes, kept = lanes_of_rows(width * (4 if element == "float" else 2))
    threads = max(lanes, 128)
    grid = ceil_div(ROWS, threads // lanes)
    launch(gpu, folder, rung, grid, threads, *args(), ELEMENT=element, LANES=lanes, KEPT=kept)


@every_element
@every_width
def test_softmax_and_its_gradient(gpu: VirtualGPU, element: str, width: int) -> None:
    x, dy = draw(element, ROWS, width), draw(element, ROWS, width, seed=1)
    y, dx = np.full_like(x, 7), np.full_like(x, 7)
    expected = find("softmax").problem.reference({"x": x.astype(float)})["y"]
    rows_launched(gpu, "softmax", "04_registers", element, width, lambda: (x, y, ROWS, width))
    assert_near(y, expected, element)
    expected = find("softmax_backward").problem.reference({"y": y.astype(float), "dy": dy.astype(float)})["dx"]
    rows_launched(gpu, "softmax_backward", "04_registers", element, width, lambda: (y, dy, dx, ROWS, width))
    assert_near(dx, expected, element)


@every_element
@every_width
def test_layer_norm(gpu: VirtualGPU, element: str, width: int) -> None:
    x, weight, bias = draw(element, ROWS, width), draw(element, width, seed=1), draw(element, width, seed=2)
    y, (mean, rstd) = np.full_like(x, 7), np.full((2, ROWS), 7, np.float32)
    wide = {"x": x.astype(float), "weight": weight.astype(float), "bias": bias.astype(float), "eps": 1e-5}
    expected = find("layer_norm").problem.reference(wide)
    args = (x, weight, bias, y, mean, rstd, ROWS, width, 1e-5)
    rows_launched(gpu, "layer_norm", "03_registers", element, width, lambda: args)
    assert_near(y, expected["y"], element)
    assert_near(mean, expected["mean"], "float")
    assert_near(rstd, expected["rstd"], "float")


@pytest.mark.parametrize("threads", [256, 512])
@pytest.mark.parametrize("width", [40_000, 40_001])
def test_softmax_in_clusters(gpu: VirtualGPU, width: int, threads: int) -> None:
    x, dy = draw("__half", 3, width), draw("__half", 3, width, seed=1)
    y, dx = np.full_like(x, 7), np.full_like(x, 7)
    launch(gpu, "softmax", "06_cluster", 8 * 2, threads, x, y, 3, width, ELEMENT="__half", THREADS=threads)
    assert_near(y * 1000.0, 1000 * find("softmax").problem.reference({"x": x.astype(float)})["y"], "__half")
    launch(gpu, "softmax_backward", "05_cluster", 8 * 2, 512, x, dy, dx, 3, width, ELEMENT="__half")
    expected = find("softmax_backward").problem.reference({"y": x.astype(float), "dy": dy.astype(float)})["dx"]
    assert_near(dx, expected, "__half")


@pytest.mark.parametrize(("width", "cluster"), [(20_000, 1), (32_768, 1), (40_000, 2), (65_528, 2)])
def test_softmax_through_a_ring(gpu: VirtualGPU, width: int, cluster: int) -> None:
    rows, blocks = 9, 2  # each block has more rows than the ring has places
    x = draw("__half", rows, width)
    y = np.full_like(x, 7)
    shared = 3 * 16 * ceil_div(2 * width // 16, cluster)
    launch(gpu, "softmax", "05_bulk_ring", cluster * blocks, 512, x, y, rows, width, shared=shared, ELEMENT="__half",
           CLUSTER=cluster)  # fmt: skip
    assert_near(y * 1000.0, 1000 * find("softmax").problem.reference({"x": x.astype(float)})["y"], "__half")


@every_element
@pytest.mark.parametrize(("adds", "early"), [(0, 1), (0, 0), (1, 0)])
@pytest.mark.parametrize("width", [1000, 1001, 8192])
def test_rms_norm_with_and_without_a_delta(gpu: VirtualGPU, element: str, width: int, adds: int, early: int) -> None:
    x, delta, weight = draw(element, ROWS, width), draw(element, ROWS, width, seed=1), draw(element, width, seed=2)
    y, residual = np.full_like(x, 7), x.copy()
    given = (residual, delta if adds else None, weight, y, ROWS, width, 1e-5)
    launch(gpu, "rms_norm", "03_registers", ROWS, 512, *given, ELEMENT=element, THREADS=512, KEPT=4, ADDS=adds,
           EARLY_WEIGHTS=early)  # fmt: skip
    total = x.astype(float) + (delta.astype(float) if adds else 0)
    assert_near(y, total / np.sqrt((total**2).mean(1, keepdims=True) + 1e-5) * weight.astype(float), element)
    assert_near(residual, total, element)


@pytest.mark.parametrize("unroll", [1, 2])
@pytest.mark.parametrize("size", [1, 4096, 10_007])
def test_gelu_and_its_gradient_in_halves(gpu: VirtualGPU, size: int, unroll: int) -> None:
    x, dy = draw("__half", size), draw("__half", size, seed=1)
    y, dx = np.full_like(x, 7), np.full_like(x, 7)
    blocks = ceil_div(2 * size, 16 * 256 * unroll)
    launch(gpu, "gelu", "03_exponential", blocks, 256, x, y, size, ELEMENT="__half", UNROLL=unroll)
    assert_near(y, find("gelu").problem.reference({"x": x.astype(float)})["y"], "__half")
    blocks = ceil_div(2 * size, 16 * 256 * 2)
    launch(gpu, "gelu_backward", "03_exponential", blocks, 256, x, dy, dx, size, ELEMENT="__half")
    wide = {"x": x.astype(float), "dy": dy.astype(float)}
    assert_near(dx, find("gelu_backward").problem.reference(wide)["dx"], "__half")


@pytest.mark.parametrize("size", [1, 4096, 10_007])
def test_gated_silu_and_its_gradient_in_halves(gpu: VirtualGPU, size: int) -> None:
    gate, up, dout = (draw("__half", size, seed=seed) for seed in range(3))
    out, dgate, dup = (np.full_like(gate, 7) for _ in range(3))
    launch(gpu, "swiglu", "03_unrolled", ceil_div(size, 4096), 256, gate, up, out, size, ELEMENT="__half")
    wide = {name: each.astype(float) for name, each in (("gate", gate), ("up", up), ("dout", dout))}
    assert_near(out, find("swiglu").problem.reference(wide)["out"], "__half")
    args = (gate, up, dout, dgate, dup, size)
    launch(gpu, "swiglu_backward", "03_unrolled", ceil_div(size, 2048), 256, *args, ELEMENT="__half")
    expected = find("swiglu_backward").problem.reference(wide)
    assert_near(dgate, expected["dgate"], "__half")
    assert_near(dup, expected["dup"], "__half")


@every_element
@pytest.mark.parametrize(("rows", "table", "gap"), [(6, 6, 64), (6, 2, 0), (5, 1, 3)])
def test_rotary_with_heads_of_128(gpu: VirtualGPU, element: str, rows: int, table: int, gap: int) -> None:
    x, angle = draw(element, rows, 3, 128), draw("float", table, 64 + gap, seed=1)
    cosine, sine = (each(angle.astype(float)).astype(x.dtype) for each in (np.cos, np.sin))
    y, args = np.full_like(x, 7), (rows, 3, table, gap)
    blocks = ceil_div(rows * 64 * x.itemsize, 16 * 256)  # the three heads are one thread's
    macros = {"ELEMENT": element, "HEAD_WIDTH": 128}
    launch(gpu, "rotary", "03_heads", blocks, 256, x, cosine, sine, y, *args, -1.0, **macros)
    low, high = np.split(x.astype(float), 2, axis=-1)
    at = np.arange(rows) % table
    c, s = (each.astype(float)[at, None, :64] for each in (cosine, sine))
    assert_near(y, np.concatenate((low * c + high * s, high * c - low * s), -1), element)


@every_element
@pytest.mark.parametrize(("classes", "threads"), [(1, 64), (75, 64), (1001, 128), (2048, 256), (5003, 1024)])
def test_cross_entropy_and_its_gradient(gpu: VirtualGPU, element: str, classes: int, threads: int) -> None:
    logits, dloss = draw(element, ROWS, classes), draw("float", ROWS, seed=1)
    labels = np.array([0, classes - 1, classes // 2, -1, 0, classes - 1])
    loss, lse, dlogits = np.full(ROWS, 7, np.float32), np.full(ROWS, 7, np.float32), np.full_like(logits, 7)
    macros = {"ELEMENT": element, "THREADS": threads}
    args = (logits, labels, loss, lse, ROWS, classes, -1)
    launch(gpu, "cross_entropy", "04_vectorised", ROWS, threads, *args, **macros)
    wide = {"logits": logits.astype(float), "labels": labels, "ignore_index": -1}
    expected = find("cross_entropy").problem.reference(wide)
    assert_near(loss, expected["loss"], "float")
    assert_near(lse, expected["lse"], "float")
    args = (logits, labels, lse, dloss, dlogits, ROWS, classes, -1)
    launch(gpu, "cross_entropy_backward", "03_vectorised", ROWS, threads, *args, **macros)
    wide |= {"lse": lse.astype(float), "dloss": dloss.astype(float)}
    assert_near(dlogits, find("cross_entropy_backward").problem.reference(wide)["dlogits"], element)


@pytest.mark.parametrize("n", [1, 4096, 10_007])
def test_adamw_of_half_parameters_with_float_moments(gpu: VirtualGPU, n: int) -> None:
    p, g = draw("__half", n), draw("__half", n, seed=1)
    m, v = draw("float", n, seed=2) / 10, np.square(draw("float", n, seed=3)) / 100
    numbers = {"lr": 0.1, "beta1": 0.75, "beta2": 0.5, "eps": 1e-3, "decay": 0.1, "correction1": 0.25,
               "correction2": 0.5}  # fmt: skip
    wide = {name: each.astype(float) for name, each in {"p": p, "m": m, "v": v, "g": g}.items()}
    expected = find("adamw").problem.reference({**wide, **numbers})
    args = (p, m, v, g, n, *numbers.values())
    launch(gpu, "adamw", "03_vectorised", ceil_div(n, 2048), 256, *args, ELEMENT="__half")
    assert_near(p, expected["p"], "__half")
    assert_near(m, expected["m"], "float")
    assert_near(v, expected["v"], "float")
