"""The engine: plugins, what is refused, what costs no launch, what is counted."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install 'gridstride[onnx]'")
pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'gridstride[torch]'")
import onnx
from small_models import FLOAT, LONG, Builder, normal

import gridstride as gs
from gridstride.frameworks.onnx import Engine, OnnxError, UnsupportedOperator, plugin
from gridstride.frameworks.onnx.folding import fold_constants
from gridstride.frameworks.onnx.graph import Graph, Node, graph_of
from gridstride.frameworks.onnx.launcher import Launcher
from gridstride.frameworks.onnx.registry import PLUGINS
from gridstride.frameworks.onnx.tensors import Tensor

pytestmark = pytest.mark.usefixtures("gpu")
ROWS = (FLOAT, ["batch", 8])


def graph(builder: Builder, *outputs: tuple[str, int, int]) -> Graph:
    return graph_of(builder.model(*outputs), "model.onnx")


def test_what_depends_on_weights_alone_is_folded() -> None:
    b = Builder(20, x=ROWS)
    shape = b("Concat", np.array([-1]), b("Mul", np.array([2]), np.array([2])), axis=0)
    folded = graph(b, (b("Reshape", "x", shape), FLOAT, 2))
    assert fold_constants(folded) == 2
    assert [node.op for node in folded.nodes] == ["Reshape"]
    assert Engine(folded).run({"x": normal(2, 8)}).outputs[folded.outputs[0].name].shape == (4, 4)


def test_views_and_arithmetic_on_shapes_cost_no_launch() -> None:
    b = Builder(20, x=ROWS)
    batch = b("Shape", "x", start=0, end=1)
    x = b("Transpose", b("Reshape", "x", b("Concat", batch, np.array([2, 4]), axis=0)), perm=[0, 2, 1])
    x = b("Slice", b("Expand", b("Unsqueeze", x, np.array([0])), np.array([3, 1, 1, 1])), np.array([1]), np.array([2]))
    made = graph(b, (x, FLOAT, 4))
    x = normal(5, 8)
    result = Engine(made).run({"x": x})
    assert np.array_equal(result.outputs[made.outputs[0].name], x.reshape(1, 5, 2, 4).swapaxes(2, 3))
    assert {node.where for node in result.nodes} == {"view", "host"}
    assert [launch for node in result.nodes for launch in node.launches] == []


def test_a_chain_is_one_kernel_and_is_counted() -> None:
    b = Builder(20, x=ROWS)
    made = graph(b, (b("Tanh", b("Mul", b("Add", "x", normal(8)), np.float32(2))), FLOAT, 2))
    engine = Engine(made)
    result = engine.run({"x": normal(4, 8)}, observe=True)
    (node,) = result.nodes
    assert node.op == "Add+Mul+Tanh"
    (launch,) = node.launches
    assert launch.kernel == "add_mul_tanh_float"
    assert launch.ms is not None
    assert launch.instructions
    assert launch.sectors
    assert engine.run({"x": normal(4, 8)}).nodes[0].ms is None


DOUBLED = """
extern "C" __global__ void doubled(const float* x, float* y, int n, float factor)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = factor * x[i];
}
"""


def doubled(run: Launcher, node: Node, x: Tensor) -> Tensor:
    x, y = run.contiguous(x), run.empty(x.shape, x.dtype)
    run.launch(gs.cuda(DOUBLED)["doubled"], -(-x.size // 128), 128, (x, y, x.size, node.attributes["factor"]))
    return y


def custom() -> Graph:
    b = Builder(20, x=ROWS)
    y = b("Relu", b("Doubled", "x", domain="com.example", factor=2.0))
    model = b.model((y, FLOAT, 2))
    model.opset_import.append(onnx.helper.make_opsetid("com.example", 1))
    return graph_of(model, "model.onnx")


def test_a_plugin_of_one_engine() -> None:
    engine = Engine(custom(), plugins={"com.example::Doubled": doubled})
    x = normal(3, 8)
    result = engine.run({"x": x})
    assert np.array_equal(result.outputs[engine.graph.outputs[0].name], np.maximum(2 * x, 0))
    assert [launch.kernel for launch in result.nodes[0].launches] == ["doubled"]


def test_a_plugin_of_all_engines() -> None:
    plugin("com.example::Doubled")(doubled)
    try:
        assert Engine(custom()).run({"x": normal(3, 8)}).outputs
    finally:
        del PLUGINS["com.example::Doubled"]
    with pytest.raises(OnnxError, match="a name such as"):
        plugin("")


def test_an_unknown_operator_is_named_with_what_there_is() -> None:
    with pytest.raises(UnsupportedOperator, match=r"com\.example::Doubled \(node Doubled_0\).*Supported: .*Conv"):
        Engine(custom())


@pytest.mark.parametrize(("kind", "said"), [(onnx.TensorProto.BFLOAT16, "bfloat16"), (onnx.TensorProto.STRING, "text")])
def test_an_input_of_a_type_without_kernels(kind: int, said: str) -> None:
    b = Builder(20, x=(kind, [4]))
    with pytest.raises(UnsupportedOperator, match=f"input 'x' is {said}: the engine computes in float32, "):
        Engine(graph(b, (b("Identity", "x"), kind, 1)))


def test_an_operator_with_graphs_inside_is_refused() -> None:
    branch = onnx.helper.make_graph([], "branch", [], [])
    node = onnx.helper.make_node("If", ["c"], ["y"], name="choice", then_branch=branch, else_branch=branch)
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [], []))
    with pytest.raises(UnsupportedOperator, match="choice is If, an operator with graphs inside"):
        graph_of(model, "m.onnx")


def test_an_index_out_of_range_names_its_node() -> None:
    b = Builder(20, tokens=(LONG, ["length"]))
    engine = Engine(graph(b, (b("Gather", normal(4, 2), "tokens"), FLOAT, 2)))
    assert engine.token_limits == {"tokens": 4}
    assert engine.run({"tokens": np.array([3, -4])}).outputs
    with pytest.raises(OnnxError, match=r"Gather_0 \(Gather\): "):
        engine.run({"tokens": np.array([4])})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "input 'x' is missing: float32 \\[batch, 8\\]"),
        ({"X": normal(2, 8)}, "no input 'X': it has x"),
        ({"x": normal(2, 8).astype(np.float64)}, r"input 'x' is float64, .* array\.astype\(float32\)"),
        ({"x": normal(2, 7)}, r"shape \[2, 7\], .* axis 1 must be 8"),
        ({"x": normal(8)}, r"shape \[8\], .* 2 axes"),
    ],
)
def test_inputs_that_do_not_fit(given: dict[str, np.ndarray], said: str) -> None:
    b = Builder(20, x=ROWS)
    with pytest.raises(OnnxError, match=said):
        Engine(graph(b, (b("Relu", "x"), FLOAT, 2))).run(given)


def test_an_empty_batch_gives_an_empty_result() -> None:
    b = Builder(20, x=ROWS)
    y = b("Softmax", b("Relu", b("Gemm", "x", normal(8, 4), normal(4))))
    made = graph(b, (y, FLOAT, 2))
    assert Engine(made).run({"x": normal(0, 8)}).outputs[y].shape == (0, 4)


@pytest.mark.parametrize("rows", [3, 257])
def test_the_range_of_small_and_large_arrays_is_found(rows: int) -> None:
    b = Builder(20, x=(FLOAT, ["batch", 256]))
    q, scale, zero = b("DynamicQuantizeLinear", "x", outputs=3)
    made = graph(b, (q, onnx.TensorProto.UINT8, 2), (scale, FLOAT, 0), (zero, onnx.TensorProto.UINT8, 0))
    x = normal(rows, 256) + 1
    result = Engine(made).run({"x": x})
    step = (np.float32(x.max()) - np.float32(x.min())) / np.float32(255)
    assert result.outputs[scale] == step
    assert result.outputs[zero] == round(-x.min() / step)
    assert abs((result.outputs[q].astype(int) - result.outputs[zero]) * step - x).max() < step
    assert len(result.nodes[0].launches) == (2 if rows == 3 else 5)


def test_a_large_product_runs_on_the_ladder() -> None:
    b = Builder(20, x=(FLOAT, [256, 20]))
    weight = normal(20, 256)
    y = b("MatMul", "x", weight)
    x = normal(256, 20, seed=3)
    result = Engine(graph(b, (y, FLOAT, 2))).run({"x": x})
    assert [launch.kernel for launch in result.nodes[0].launches] == ["matmul_double_buffer"]
    np.testing.assert_allclose(result.outputs[y], x @ weight, atol=1e-4)
