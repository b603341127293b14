"""Products of integers with what makes numbers of them: one kernel instead of five."""

from __future__ import annotations

import numpy as np

from gridstride.frameworks.onnx.folding import evaluate
from gridstride.frameworks.onnx.graph import Array, Graph, Node
from gridstride.frameworks.onnx.operators.int8_ops import INT8_LINEAR
from gridstride.frameworks.onnx.passes.patterns import Matcher, either, rewrite


def fuse_int8(graph: Graph) -> int:
    """MatMulInteger with its scales, and products of dequantized values (QDQ); a bias goes along."""
    match, count = Matcher(graph), 0
    for node in graph.nodes:
        if node.qualified == "Mul":
            inputs = either(node, lambda product, scales: _dynamic(match, product, scales))
        elif node.qualified in ("MatMul", "Gemm"):
            inputs = _dequantized(graph, match, node)
        else:
            continue
        if inputs is not None:
            rewrite(node, INT8_LINEAR, inputs)
            count += 1
    graph.drop_unused()
    _add_biases(graph)
    return count


def _dynamic(match: Matcher, product: str, scales: str) -> list[str] | None:
    """Cast(MatMulInteger(a, b, za, zb)) times scale_a scale_b."""
    cast, scale_product = match.only(product, "Cast"), match.only(scales, "Mul")
    integers = cast and match.only(cast.inputs[0], "MatMulInteger")
    if not integers or not scale_product or match.constant(integers.inputs[1]) is None:
        return None
    of_b = next((name for name in scale_product.inputs if match.constant(name) is not None), None)
    of_a = next((name for name in scale_product.inputs if name != of_b), None)
    if of_b is None or of_a is None:
        return None
    a, b, zero_a, zero_b = [*integers.inputs, "", ""][:4]
    if zero_b and match.constant(zero_b) is None:
        return None
    return [a, of_a, zero_a, b, of_b, zero_b, ""]


def _dequantized(graph: Graph, match: Matcher, node: Node) -> list[str] | None:
    """DequantizeLinear of both factors, the weight's a constant."""
    plain = node.attributes.get("alpha", 1.0) == node.attributes.get("beta", 1.0) == 1.0
    a, b = (match.made_by(name, "DequantizeLinear") for name in node.inputs[:2])
    if a is None or b is None or not plain or node.attributes.get("transA", 0):
        return None
    weight, scale = match.constant(b.inputs[0]), match.constant(b.inputs[1])
    scale_a = match.constant(a.inputs[1])
    if weight is None or scale is None or weight.ndim != 2 or weight.dtype.name not in ("int8", "uint8"):
        return None
    if scale_a is None or scale_a.size != 1 or (zero := _zero_dtype(match, a)) not in ("int8", "uint8"):
        return None
    turned = bool(node.attributes.get("transB", 0))
    if scale.size > 1 and b.attributes.get("axis", 1) % 2 != (0 if turned else 1):
        return None  # scales of rows do not come out of the sum
    bias = _bias(graph, match, node)
    if bias is None:
        return None
    name = b.inputs[0]
    if turned:
        name = graph.new_name(name)
        graph.constants[name] = np.ascontiguousarray(weight.T)
    assert zero is not None
    zeros_a, zeros_b = (dequantize.inputs[2] if len(dequantize.inputs) > 2 else "" for dequantize in (a, b))
    return [a.inputs[0], a.inputs[1], zeros_a, name, b.inputs[1], zeros_b, bias]


def _zero_dtype(match: Matcher, node: Node) -> str | None:
    """The integers' type, which the zero point tells; uint8 without one."""
    zero = match.constant(node.inputs[2]) if len(node.inputs) > 2 and node.inputs[2] else None
    return zero.dtype.name if zero is not None else "uint8"


def _bias(graph: Graph, match: Matcher, node: Node) -> str | None:
    """The name of a float vector, "" where there is none; None where it is something else."""
    name = node.inputs[2] if len(node.inputs) > 2 else ""
    value = _number(graph, match, name) if name else None
    if not name:
        return ""
    if value is None or value.ndim != 1:
        return None
    new = graph.new_name("bias")
    graph.constants[new] = value.astype(np.float32)
    return new


def _number(graph: Graph, match: Matcher, name: str) -> Array | None:
    """A constant, or one that was quantized."""
    dequantize = match.made_by(name, "DequantizeLinear")
    if dequantize is None:
        return match.constant(name)
    values = [match.constant(name_of_input) for name_of_input in dequantize.present()]
    return evaluate(dequantize, values, graph.opset)[0] if all(value is not None for value in values) else None


def fuse_requantized(graph: Graph) -> int:
    """QuantizeLinear with one scale behind a product of integers, with what its kernel does besides."""
    producers, uses, match, count = graph.producers(), graph.uses(), Matcher(graph), 0
    for node in graph.nodes:
        product = producers.get(node.inputs[0]) if node.qualified == "QuantizeLinear" else None
        if product is None or product.qualified != INT8_LINEAR or uses[node.inputs[0]] != 1 or len(product.inputs) > 7:
            continue
        scale, zero = match.constant(node.inputs[1]), match.constant(node.inputs[2]) if len(node.inputs) > 2 else None
        if scale is None or scale.size != 1 or scale.dtype != np.float32 or (zero is not None and zero.itemsize > 1):
            continue
        rewrite(node, INT8_LINEAR, [*product.inputs, *node.inputs[1:3]], product.body)
        count += 1
    return count


def _add_biases(graph: Graph) -> None:
    """Add of a vector behind a product of integers goes into it."""
    producers, uses = graph.producers(), graph.uses()
    match = Matcher(graph)
    for node in graph.nodes:
        if node.qualified != "Add":
            continue
        for name, other in (node.inputs, node.inputs[::-1]):
            product = producers.get(name)
            value = _number(graph, match, other)
            fits = product is not None and product.qualified == INT8_LINEAR and uses[name] == 1
            if not fits or product is None or product.inputs[6] or value is None or value.ndim != 1:
                continue
            new = graph.new_name("bias")
            graph.constants[new] = value.astype(np.float32)
            rewrite(node, INT8_LINEAR, [*product.inputs[:6], new])
            break
    graph.drop_unused()
