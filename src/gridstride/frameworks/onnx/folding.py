"""Constant folding: what depends on weights alone is computed once, before the first run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gridstride.frameworks.onnx.graph import ELEMENTWISE, Array, Graph, Node
from gridstride.frameworks.onnx.model_file import first_sentence
from gridstride.frameworks.onnx.narrow_types import is_narrow
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.packages import onnx_package

LARGEST = 1 << 24
"""Elements of a folded value: a larger one, of a ConstantOfShape say, is made when it is wanted."""
DRAWN = frozenset({"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial"})
_KEPT = frozenset({"DequantizeLinear"})
"""Weights in int8 stay so: the fusion of int8 products looks for them. Of 4 bits, say, there are no such products."""


def fold_constants(graph: Graph, *, everything: bool = False) -> int:
    """Replace nodes whose inputs are all constants by what they give; how many there were.

    `everything`: quantized weights become numbers, too.
    """
    remaining: list[Node] = []
    for node in graph.nodes:
        if _folds(node, graph) and (everything or node.op not in _KEPT or _of_narrow(node, graph)):
            values = evaluate(node, [graph.constants[name] if name else None for name in node.inputs], graph.opset)
            if all(value.size <= LARGEST for value in values):
                graph.constants |= {name: value for name, value in zip(node.outputs, values, strict=False) if name}
                continue
        remaining.append(node)
    folded = len(graph.nodes) - len(remaining)
    graph.nodes = remaining
    graph.drop_unused()
    return folded


def remove_dropout(graph: Graph) -> None:
    """Dropout of inference is its input, and its mask is true everywhere; OnnxError for one that trains."""
    graph.nodes = _without_dropout(graph, graph.nodes)


def _without_dropout(graph: Graph, graph_nodes: Sequence[Node]) -> list[Node]:
    nodes: list[Node] = []
    for node in graph_nodes:
        if node.op != "Dropout" or node.domain:
            for branch in node.subgraphs.values():
                branch.nodes = _without_dropout(graph, branch.nodes)
            nodes.append(node)
            continue
        if len(node.inputs) > 2 and node.inputs[2]:
            training, ratio = (graph.constants.get(name) for name in (node.inputs[2], node.inputs[1]))
            if training is None or (training.any() and (ratio is None or ratio.any())):
                raise OnnxError(f"{node.name} (Dropout): training_mode is not false: export the model in eval mode")
        x, outputs = node.inputs[0], node.outputs
        nodes.append(Node("Identity", [x], outputs[:1], name=node.name))
        if len(outputs) > 1 and outputs[1]:
            shape = graph.new_name(outputs[1])
            nodes.append(Node("Shape", [x], [shape], name=f"{node.name}_shape"))
            filled = {"value": np.ones(1, bool)}
            nodes.append(Node("ConstantOfShape", [shape], [outputs[1]], filled, name=f"{node.name}_mask"))
    return nodes


def _of_narrow(node: Node, graph: Graph) -> bool:
    return any(is_narrow(graph.constants[name].dtype) for name in node.present())


def _folds(node: Node, graph: Graph) -> bool:
    return (
        not node.domain and node.op not in DRAWN and not node.subgraphs
        and all(name in graph.constants for name in node.present())
    )  # fmt: skip


def evaluate(node: Node, values: Sequence[Array | None], opset: int) -> list[Array]:
    """What a node of ONNX's own domain gives for host arrays, by the reference implementation of its specification."""
    if node.op == ELEMENTWISE:
        return [_chain(node, values, opset)]
    try:
        with np.errstate(all="ignore"):  # what overflows is the model's affair
            return [np.asarray(value) for value in _evaluator(_Key(node, opset))(list(values))]
    except OnnxError:
        raise
    except Exception as error:
        raise OnnxError(f"{node.name} ({node.op}) cannot be computed: {first_sentence(error)}") from error


def _chain(node: Node, values: Sequence[Array | None], opset: int) -> Array:
    """The value of a fused chain, one node after the other."""
    arrays = dict(zip(node.inputs, values, strict=True)) | {"": None}
    for inner in node.body:
        (arrays[inner.outputs[0]],) = evaluate(inner, [arrays[name] for name in inner.inputs], opset)
    result = arrays[node.outputs[0]]
    assert result is not None
    return result


class _Key:
    """A node by identity, for the evaluators that are kept."""

    def __init__(self, node: Node, opset: int) -> None:
        self.node, self.opset = node, opset

    def __hash__(self) -> int:
        return hash((id(self.node), self.opset))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.node is self.node and other.opset == self.opset


@functools.lru_cache(maxsize=4096)
def _evaluator(key: _Key) -> Callable[[list[Array | None]], Sequence[Any]]:
    onnx = onnx_package()
    from onnx.reference import ReferenceEvaluator

    node = key.node
    attributes = {name: _attribute(name, value) for name, value in node.attributes.items()}
    inputs = [f"i{n}" if name else "" for n, name in enumerate(node.inputs)]
    outputs = [f"o{n}" if name else "" for n, name in enumerate(node.outputs)]
    onnx_node = onnx.helper.make_node(node.op, inputs, outputs, **attributes)
    value = onnx.helper.make_empty_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx_node], "node", [value(n) for n in inputs if n], [value(n) for n in outputs if n]
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", key.opset)])
    evaluator = ReferenceEvaluator(model)

    def run(values: list[Array | None]) -> Sequence[Any]:
        present = {name: value for name, value in zip(inputs, values, strict=True) if name and value is not None}
        results: Sequence[Any] = evaluator.run(None, present)
        return results

    return run


def _attribute(name: str, value: Any) -> Any:
    onnx = onnx_package()
    return onnx.numpy_helper.from_array(value, name) if isinstance(value, np.ndarray) else value
