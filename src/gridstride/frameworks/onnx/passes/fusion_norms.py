"""Norms from their parts, and batch norms into the weights of the convolution in front."""

from __future__ import annotations

import numpy as np

from gridstride.frameworks.onnx.graph import Graph, Node
from gridstride.frameworks.onnx.passes.patterns import Matcher, either, rewrite


def fuse_rms_norms(graph: Graph) -> int:
    """x / sqrt(mean(x^2) + eps) * weight over the last axis, however it is written."""
    match, count = Matcher(graph), 0
    for node in graph.nodes:
        if node.qualified != "Mul":
            continue
        operands = either(node, lambda normed, weight: _rms(match, normed, weight))
        if operands is not None:
            x, weight, epsilon = operands
            rewrite(node, "RMSNormalization", [x, weight], epsilon=epsilon, axis=-1)
            count += 1
    return count


def _rms(match: Matcher, normed: str, weight: str) -> tuple[str, str, float] | None:
    vector = match.constant(weight)
    node = match.only(normed, "Mul", "Div")
    if vector is None or vector.ndim != 1 or vector.dtype.kind != "f" or node is None:
        return None
    if node.op == "Div":
        epsilon = _root(match, node.inputs[1], node.inputs[0])
        return None if epsilon is None else (node.inputs[0], weight, epsilon)

    def scaled(x: str, factor: str) -> tuple[str, str, float] | None:
        inverse = match.only(factor, "Reciprocal", "Div")
        if inverse is None or (inverse.op == "Div" and not match.is_scalar(inverse.inputs[0], 1.0)):
            return None
        epsilon = _root(match, inverse.inputs[-1], x)
        return None if epsilon is None else (x, weight, epsilon)

    return either(node, scaled)


def _root(match: Matcher, name: str, x: str) -> float | None:
    """eps where a value is sqrt(mean(x^2) + eps)."""
    root = match.only(name, "Sqrt")
    plus = root and match.only(root.inputs[0], "Add")
    if not plus:
        return None

    def mean_and_epsilon(mean: str, epsilon: str) -> float | None:
        number = match.scalar(epsilon)
        return number if number is not None and _mean_of_squares(match, mean) == x else None

    return either(plus, mean_and_epsilon)


def _mean_of_squares(match: Matcher, name: str) -> str | None:
    mean = match.only(name, "ReduceMean")
    if mean is None or not match.reduces_last_axis(mean):
        return None
    square = match.only(mean.inputs[0], "Pow", "Mul")
    if square is None:
        return None
    if square.op == "Pow":
        return square.inputs[0] if match.is_scalar(square.inputs[1], 2.0) else None
    return square.inputs[0] if square.inputs[0] == square.inputs[1] else None


def fuse_layer_norms(graph: Graph) -> int:
    """(x - mean) / sqrt(mean((x - mean)^2) + eps) * weight + bias over the last axis."""
    match, count = Matcher(graph), 0
    for node in graph.nodes:
        if node.qualified != "Add":
            continue
        operands = either(node, lambda scaled, bias: _layer(match, scaled, bias))
        if operands is not None:
            x, weight, bias, epsilon = operands
            rewrite(node, "LayerNormalization", [x, weight, bias], epsilon=epsilon, axis=-1)
            count += 1
    return count


def _layer(match: Matcher, scaled: str, bias: str) -> tuple[str, str, str, float] | None:
    offset, product = match.constant(bias), match.only(scaled, "Mul")
    if offset is None or offset.ndim != 1 or product is None:
        return None

    def centred(normed: str, weight: str) -> tuple[str, str, str, float] | None:
        vector, quotient = match.constant(weight), match.only(normed, "Div")
        if vector is None or vector.shape != offset.shape or quotient is None:
            return None
        difference = match.made_by(quotient.inputs[0], "Sub")
        epsilon = _root(match, quotient.inputs[1], quotient.inputs[0])
        mean = None if difference is None else match.only(difference.inputs[1], "ReduceMean")
        if difference is None or epsilon is None or mean is None or not match.reduces_last_axis(mean):
            return None
        return (difference.inputs[0], weight, bias, epsilon) if mean.inputs[0] == difference.inputs[0] else None

    return either(product, centred)


def fold_batch_norms(graph: Graph) -> int:
    """BatchNormalization behind a convolution becomes part of its weights and bias."""
    match, count = Matcher(graph), 0
    for node in graph.nodes:
        if node.qualified == "BatchNormalization" and not node.attributes.get("training_mode", 0):
            count += _fold_batch_norm(graph, match, node)
    return count


def _fold_batch_norm(graph: Graph, match: Matcher, node: Node) -> int:
    convolution = match.only(node.inputs[0], "Conv")
    parameters = [match.constant(name) for name in node.inputs[1:5]]
    if convolution is None or any(value is None for value in parameters):
        return 0
    weight = match.constant(convolution.inputs[1])
    has_bias = len(convolution.inputs) > 2 and convolution.inputs[2]
    bias = match.constant(convolution.inputs[2]) if has_bias else None
    if weight is None or (has_bias and bias is None):
        return 0
    scale, shift, mean, variance = (np.asarray(value, np.float64) for value in parameters)
    factor = scale / np.sqrt(variance + node.attributes.get("epsilon", 1e-5))
    old = np.zeros_like(mean) if bias is None else bias.astype(np.float64)
    names = graph.new_name("weight"), graph.new_name("bias")
    graph.constants[names[0]] = (weight * factor.reshape(-1, *[1] * (weight.ndim - 1))).astype(weight.dtype)
    graph.constants[names[1]] = (shift + (old - mean) * factor).astype(weight.dtype)
    rewrite(node, "Conv", [convolution.inputs[0], *names], **convolution.attributes)
    del node.outputs[1:]
    return 1
