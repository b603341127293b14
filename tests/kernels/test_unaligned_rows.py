"""What the ops hand to their kernels may begin anywhere in memory: views are contiguous, too."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.judge.find import find
from gridstride.virtual.gpu import VirtualGPU

ROWS, WIDTH, EPS = 3, 64, 1e-5


@pytest.mark.parametrize("moved", ["residual", "delta", "weight", "out", ""])
def test_rms_norm_takes_arrays_that_begin_off_a_vector(moved: str) -> None:
    draw = np.random.default_rng(5)
    shapes = {"residual": ROWS * WIDTH, "delta": ROWS * WIDTH, "weight": WIDTH, "out": ROWS * WIDTH}
    values = {name: draw.standard_normal(count + 1).astype(np.float16) for name, count in shapes.items()}
    with gs.use(VirtualGPU()):
        kernel = gs.cuda(find("rms_norm").path / "rungs" / "03_registers.cu")["rms_norm_registers"]
        begin = {name: int(name == moved) for name in shapes}
        arrays = {name: gs.to_device(values[name])[begin[name] : begin[name] + shapes[name]] for name in shapes}
        kernel[ROWS, 128](*arrays.values(), ROWS, WIDTH, np.float32(EPS))
        got = arrays["out"].numpy().reshape(ROWS, WIDTH).astype(np.float64)
    given = {name: values[name][begin[name] : begin[name] + shapes[name]].astype(np.float64) for name in shapes}
    x = (given["residual"] + given["delta"]).reshape(ROWS, WIDTH)
    expected = x / np.sqrt((x * x).mean(1, keepdims=True) + EPS) * given["weight"]
    np.testing.assert_allclose(got, expected, rtol=4e-3, atol=4e-3)
