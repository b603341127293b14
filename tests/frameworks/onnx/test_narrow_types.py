"""Weights of 2 to 8 bits: on the host they become what kernels compute in, once where they are constant."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")

import ml_dtypes
from onnx import TensorProto
from small_models import FLOAT, Builder, graph, normal

from gridstride.frameworks.onnx import Engine, UnsupportedOperator

pytestmark = pytest.mark.usefixtures("gpu")


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float4_e2m1fn", "int4", "uint4"])
def test_numbers_are_rounded_to_a_narrow_type_and_back(name: str) -> None:
    narrow = getattr(TensorProto, {"float4_e2m1fn": "FLOAT4E2M1"}.get(name, name.upper().replace("_", "")))
    b = Builder(24, x=(FLOAT, ["n"]))
    out = b("Cast", b("Cast", "x", to=narrow), to=FLOAT)
    x = np.float32([0, 1, 2, 3, 5.9, 6])
    result = Engine(graph(b, (out, FLOAT, 1))).run({"x": x})
    assert result.outputs[out].tolist() == x.astype(getattr(ml_dtypes, name)).astype(np.float32).tolist()
    assert {node.where for node in result.nodes} == {"host"}


def test_weights_of_four_bits_are_widened_before_the_first_run() -> None:
    """Blocks of two rows have a scale each, as quantizers of language models write them."""
    draw = np.random.default_rng(5)
    weights, scales = draw.integers(-8, 8, (4, 3)).astype(ml_dtypes.int4), normal(2, 3, seed=1)
    b = Builder(24, x=(FLOAT, ["n", 4]))
    wide = b("DequantizeLinear", weights, scales, axis=0, block_size=2)
    engine = Engine(graph(b, (b("MatMul", "x", wide), FLOAT, 2)))
    assert [node.op for node in engine.graph.nodes] == ["MatMul"]
    x = normal(5, 4, seed=2)
    (y,) = engine.run({"x": x}).outputs.values()
    assert np.allclose(y, x @ (weights.astype(np.float32) * scales.repeat(2, 0)), atol=1e-5)


def test_a_kernel_that_would_compute_in_a_narrow_type_is_refused() -> None:
    b = Builder(24, x=(TensorProto.FLOAT8E4M3FN, [50, 50]))
    made = graph(b, (b("Transpose", "x"), TensorProto.FLOAT8E4M3FN, 2))
    with pytest.raises(UnsupportedOperator, match=r"Transpose_0 \(Transpose\) reads float8_e4m3fn, .*: Cast it first"):
        Engine(made).run({"x": np.zeros((50, 50), ml_dtypes.float8_e4m3fn)})
