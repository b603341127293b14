"""Fusion: which passes there are, and those of products, activations and chains of elementwise nodes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gridstride.frameworks.onnx.expressions import ACTIVATIONS, ELEMENTWISE_OPS
from gridstride.frameworks.onnx.folding import fold_constants
from gridstride.frameworks.onnx.graph import ELEMENTWISE, Graph, Node
from gridstride.frameworks.onnx.narrow_types import gives_narrow
from gridstride.frameworks.onnx.operators.convolution_ops import CONVOLUTION
from gridstride.frameworks.onnx.operators.int8_ops import INT8_LINEAR
from gridstride.frameworks.onnx.operators.product_ops import LINEAR
from gridstride.frameworks.onnx.passes.fusion_attention import (
    fuse_attention,
    fuse_grouped_heads,
    fuse_rotary,
    fuse_swaps,
)
from gridstride.frameworks.onnx.passes.fusion_int8 import fuse_int8, fuse_requantized
from gridstride.frameworks.onnx.passes.fusion_norms import fold_batch_norms, fuse_layer_norms, fuse_rms_norms
from gridstride.frameworks.onnx.passes.patterns import Matcher, either, rewrite

_MOST_READ = 8
"""Values that a fused chain reads: each costs a kernel some parameters."""
_KEPT = "kept by a plugin:"
Pass = Callable[[Graph], int]


def fuse(graph: Graph, *, keep: frozenset[str] = frozenset()) -> dict[str, int]:
    """Run every pass; how often each one found something. Operators in `keep` stay as they are."""
    counts: dict[str, int] = {}
    excluded = [node for node in graph.nodes if node.qualified in keep]
    for node in excluded:  # no pattern has a node of this domain
        node.domain = _KEPT + node.domain
    for name, run in _PASSES.items():
        counts[name] = run(graph)
        graph.drop_unused()
    for node in excluded:
        node.domain = node.domain.removeprefix(_KEPT)
    return {name: count for name, count in counts.items() if count}


# -- activations from their parts --------------------------------------------------------------------------------------
def fuse_activations(graph: Graph) -> int:
    """x sigmoid(x) to Swish; 0.5 x (1 + erf(x / sqrt 2)) to Gelu."""
    match, count = Matcher(graph), 0
    for node in graph.nodes:
        if node.qualified != "Mul":
            continue
        if (x := either(node, lambda a, b: _gate(match, a, b))) is not None:
            rewrite(node, "Swish", [x])
        elif (x := either(node, lambda a, b: _erf_gelu(match, a, b))) is not None:
            rewrite(node, "Gelu", [x])
        else:
            continue
        count += 1
    return count


def _gate(match: Matcher, x: str, gate: str) -> str | None:
    sigmoid = match.only(gate, "Sigmoid")
    return x if sigmoid is not None and sigmoid.inputs == [x] else None


def _erf_gelu(match: Matcher, a: str, b: str) -> str | None:
    """a times b: (0.5 x) (1 + erf …), or 0.5 (x (1 + erf …))."""
    if match.is_scalar(a, 0.5):
        product = match.only(b, "Mul")
        return None if product is None else either(product, lambda x, e: x if _erf_of(match, e) == x else None)
    half = match.only(a, "Mul")
    if half is None or (x := _erf_of(match, b)) is None:
        return None
    return x if either(half, lambda c, y: True if y == x and match.is_scalar(c, 0.5) else None) else None


def _erf_of(match: Matcher, name: str) -> str | None:
    """x where a value is 1 + erf(x / sqrt 2)."""
    plus = match.only(name, "Add")
    erf = plus and either(plus, lambda constant, e: match.only(e, "Erf") if match.is_scalar(constant, 1.0) else None)
    inner = erf and match.only(erf.inputs[0], "Div", "Mul")
    if not inner:
        return None
    if inner.op == "Div":
        return inner.inputs[0] if match.is_scalar(inner.inputs[1], 2**0.5) else None
    return either(inner, lambda c, x: x if match.is_scalar(c, 0.5**0.5) else None)


# -- products ----------------------------------------------------------------------------------------------------------
def fuse_biases(graph: Graph) -> int:
    """MatMul with a weight and Add of a vector, and Gemm, to Linear."""
    match, count = Matcher(graph), 0
    for node in graph.nodes:
        if node.qualified == "Add":
            count += bool(_biased(match, node, *node.inputs) or _biased(match, node, *node.inputs[::-1]))
        elif node.qualified == "Gemm" and _plain_gemm(match, node):
            rewrite(node, LINEAR, list(node.inputs), transB=node.attributes.get("transB", 0))
            count += 1
    return count


def _biased(match: Matcher, node: Node, product: str, bias: str) -> bool:
    vector, producer = match.constant(bias), match.only(product, "MatMul")
    weight = None if producer is None else match.constant(producer.inputs[1])
    if producer is None or vector is None or weight is None or weight.ndim != 2 or weight.shape[1:] != vector.shape:
        return False
    rewrite(node, LINEAR, [*producer.inputs, bias])
    return True


def _plain_gemm(match: Matcher, node: Node) -> bool:
    """x W + b of a vector b, whatever W is."""
    bias = match.constant(node.inputs[2]) if len(node.inputs) > 2 and node.inputs[2] else None
    absent = len(node.inputs) < 3 or not node.inputs[2]
    factors = node.attributes.get("alpha", 1.0) == node.attributes.get("beta", 1.0) == 1.0
    return factors and not node.attributes.get("transA", 0) and (absent or (bias is not None and bias.ndim == 1))


def fuse_epilogues(graph: Graph) -> int:
    """The activation behind a product or a convolution goes into its kernel."""
    producers, uses, count = graph.producers(), graph.uses(), 0
    for node in graph.nodes:
        if node.domain or node.op not in ACTIVATIONS:
            continue
        producer = producers.get(node.inputs[0])
        if producer is None or uses[node.inputs[0]] != 1 or producer.body:
            continue
        activation = _self_contained(graph, node)
        op = _with_epilogue(graph, producer)
        if op is None or activation is None:
            continue
        attributes = producer.attributes
        rewrite(node, op, list(producer.inputs), [activation], **attributes)
        count += 1
    return count


def _with_epilogue(graph: Graph, producer: Node) -> str | None:
    """The operator whose kernel has an activation at its end."""
    if producer.op == "MatMul" and not producer.domain:
        weight = graph.constants.get(producer.inputs[1])
        return LINEAR if weight is not None and weight.ndim == 2 else None
    if producer.qualified in (LINEAR, INT8_LINEAR):
        return producer.qualified
    return CONVOLUTION if producer.qualified == "Conv" else None


def _self_contained(graph: Graph, node: Node) -> Node | None:
    """An activation that needs no other inputs; bounds of Clip become attributes."""
    attributes = dict(node.attributes)
    for name, key in zip(node.inputs[1:], ("min", "max"), strict=False):
        if name:
            bound = graph.constants.get(name)
            if bound is None or bound.size != 1:
                return None
            attributes[key] = float(bound.reshape(()))
    return Node(node.op, node.inputs[:1], list(node.outputs), attributes, "", node.name)


# -- chains ------------------------------------------------------------------------------------------------------------
def fuse_elementwise(graph: Graph) -> int:
    """Elementwise nodes that one other reads go into it, from the end to the front."""
    producers, uses, absorbed, count = graph.producers(), graph.uses(), set[int](), 0
    for node in reversed(graph.nodes):
        if id(node) in absorbed or not _fusible(node):
            continue
        body, reads = [node], list(dict.fromkeys(node.present()))
        while (inner := _next(producers, uses, graph, reads, body)) is not None:
            body.insert(0, inner)
            absorbed.add(id(inner))
            at = reads.index(inner.outputs[0])
            reads = list(dict.fromkeys([*reads[:at], *inner.present(), *reads[at + 1 :]]))
        if len(body) == 1:
            continue
        last = Node(node.op, node.inputs, list(node.outputs), node.attributes, "", node.name)
        node.body, node.op, node.inputs, node.attributes = [*body[:-1], last], ELEMENTWISE, reads, {}
        count += 1
    graph.nodes = [node for node in graph.nodes if id(node) not in absorbed]
    return count


def _fusible(node: Node) -> bool:
    return not node.domain and node.op in ELEMENTWISE_OPS and not any(node.outputs[1:]) and not gives_narrow(node)


def _next(
    producers: dict[str, Node], uses: dict[str, int], graph: Graph, reads: list[str], body: list[Node]
) -> Node | None:
    """A node whose value only this chain reads, once all that it reads still fits."""
    for name in reads:
        node = producers.get(name)
        inside = sum(input_name.inputs.count(name) for input_name in body)
        if node is None or not _fusible(node) or uses[name] != inside:
            continue
        external = {input_name for input_name in reads if input_name != name} | set(node.present())
        if len([input_name for input_name in external if not _is_number(graph, input_name)]) <= _MOST_READ:
            return node
    return None


def _is_number(graph: Graph, name: str) -> bool:
    value = graph.constants.get(name)
    return value is not None and np.size(value) == 1


_PASSES: dict[str, Pass] = {
    "int8 product": fuse_int8,
    "weights in numbers": lambda graph: fold_constants(graph, everything=True),
    "activation": fuse_activations,
    "layer norm": fuse_layer_norms,  # before what is a part of it
    "rms norm": fuse_rms_norms,
    "batch norm": fold_batch_norms,
    "swapped axes": fuse_swaps,
    "rotary": fuse_rotary,
    "attention": fuse_attention,
    "grouped heads": fuse_grouped_heads,
    "bias": fuse_biases,
    "product and activation": fuse_epilogues,
    "integers to integers": fuse_requantized,
    "elementwise": fuse_elementwise,
}
"""In this order: what is known as a whole comes before what is made of any nodes."""
