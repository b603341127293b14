"""Attention, rotary positions and exchanged axes from their parts."""

from __future__ import annotations

from typing import Any

from gridstride.frameworks.onnx.graph import Graph, Node
from gridstride.frameworks.onnx.operators.attention_ops import FUSED, GROUPED, ROTARY, ROTATED
from gridstride.frameworks.onnx.operators.movement_ops import SWAPPED
from gridstride.frameworks.onnx.passes.patterns import Matcher, either, rewrite

_NAN = "__int_as_float(0x7fc00000)"
_TO_THE_END = float(1 << 30)
"""An end of a slice that is beyond every axis."""
_MASKED = -1e30
"""A float mask that is so far below zero leaves nothing of a weight."""


def fuse_swaps(graph: Graph) -> int:
    """Reshape to three axes, Transpose of the last two, Reshape back."""
    match, count = Matcher(graph), 0
    for node in graph.nodes:
        if node.qualified != "Reshape":
            continue
        turned = match.only(node.inputs[0], "Transpose")
        if turned is None or turned.attributes.get("perm") != [0, 2, 1]:
            continue
        first = match.only(turned.inputs[0], "Reshape")
        if first is not None:
            rewrite(node, SWAPPED, [first.inputs[0], first.inputs[1], node.inputs[1]])
            count += 1
    return count


# -- rotary ------------------------------------------------------------------------------------------------------------
def fuse_rotary(graph: Graph) -> int:
    """Concat(a cos - b sin, b cos + a sin) of the halves a, b of x's last axis; x cos + Concat(-b, a) sin."""
    match, count = Matcher(graph), 0
    for node in graph.nodes:
        added = node.qualified == "Add" and len(node.inputs) == 2
        rotated = either(node, lambda straight, turned: _rotated(match, straight, turned)) if added else None
        if rotated is not None:
            rewrite(node, ROTATED, rotated[0], at=rotated[1])
            count += 1
            continue
        if node.qualified != "Concat" or len(node.inputs) != 2 or not _along_last(graph, node.inputs[0], node):
            continue
        inputs = _rotation_inputs(match, node, graph)
        if inputs is not None:
            rewrite(node, ROTARY, inputs)
            count += 1
    return count


def _rotation_inputs(match: Matcher, node: Node, graph: Graph) -> list[str] | None:
    low, high = match.only(node.inputs[0], "Sub"), match.only(node.inputs[1], "Add")
    if low is None or high is None:
        return None
    products = [match.only(name, "Mul") for name in (*low.inputs, *high.inputs)]
    if any(product is None for product in products):
        return None
    first, second, third, fourth = (product.inputs for product in products if product is not None)
    (a, cos), (b, sin) = first, second
    if third != [b, cos] or fourth != [a, sin]:
        return None
    split = next(
        (product for product in graph.nodes if product.qualified == "Split" and product.outputs == [a, b]), None
    )
    if split is None or len(split.inputs) > 1 or not _along_last(graph, split.inputs[0], split):
        return None
    return [split.inputs[0], cos, sin]


def _rotated(match: Matcher, straight: str, turned: str) -> tuple[list[str], int] | None:
    """x, cos, sin and where x is cut, of x cos + Concat(-x[at:], x[:at]) sin."""
    unturned, moved = match.only(straight, "Mul"), match.only(turned, "Mul")
    if unturned is None or moved is None:
        return None
    for halves, sin in (moved.inputs, moved.inputs[::-1]):
        concat = match.only(halves, "Concat")
        negative = match.only(concat.inputs[0], "Neg") if concat is not None and len(concat.inputs) == 2 else None
        if concat is None or negative is None or not _along_last(match.graph, halves, concat):
            continue
        back, front = match.only(negative.inputs[0], "Slice"), match.only(concat.inputs[1], "Slice")
        cut = None if back is None or front is None else _cut(match, front, back)
        if cut is None or cut[0] not in unturned.inputs:
            continue
        cos = unturned.inputs[1] if unturned.inputs[0] == cut[0] else unturned.inputs[0]
        return [cut[0], cos, sin], cut[1]
    return None


def _cut(match: Matcher, front: Node, back: Node) -> tuple[str, int] | None:
    """x and the place where two slices cut its last axis in two."""
    if front.inputs[0] != back.inputs[0] or len(front.inputs) < 4 or len(back.inputs) < 4:
        return None
    x, rank = front.inputs[0], match.graph.ranks.get(front.inputs[0])
    for slice_node in (front, back):
        axis, step = (
            match.scalar(slice_node.inputs[3]),
            match.scalar(slice_node.inputs[4]) if len(slice_node.inputs) > 4 else 1.0,
        )
        if step != 1.0 or axis is None or (axis != -1 and (rank is None or axis != rank - 1)):
            return None
    (start, at), (second_start, end) = (
        [match.scalar(name) for name in slice_node.inputs[1:3]] for slice_node in (front, back)
    )
    is_halved = (
        start == 0.0 and at is not None and at > 0 and at == second_start and end is not None and end > _TO_THE_END
    )
    return (x, int(at)) if is_halved and at is not None else None


# -- attention ---------------------------------------------------------------------------------------------------------
def fuse_attention(graph: Graph) -> int:
    """softmax(scale q k + mask) v: two products, a softmax, and what stands between them."""
    match, count = Matcher(graph), 0
    for node in graph.nodes:
        if node.qualified != "MatMul" or node.inputs[1] in graph.constants:
            continue
        match_result = _attention(match, node, graph)
        if match_result is not None:
            inputs, attributes = match_result
            rewrite(node, FUSED, inputs, **attributes)
            count += 1
    return count


def fuse_grouped_heads(graph: Graph) -> int:
    """Keys and values repeated for the heads that share them (Unsqueeze, Expand, Reshape) are read as they are."""
    match, producers, count = Matcher(graph), graph.producers(), 0
    for node in graph.nodes:
        if node.qualified != FUSED:
            continue
        swap = producers.get(node.inputs[1])
        if swap is None or swap.qualified != SWAPPED or match.uses(node.inputs[1]) != 1:
            continue
        k, v = _repeated(match, swap.inputs[0]), _repeated(match, node.inputs[2])
        if k is not None and v is not None:
            mask = node.inputs[3] if len(node.inputs) > 3 else ""
            rewrite(node, GROUPED, [node.inputs[0], k[0], v[0], mask, *k[1:], *v[1:]], **node.attributes)
            count += 1
    return count


def _repeated(match: Matcher, name: str) -> list[str] | None:
    """x and the shapes of Expand and Reshape."""
    merged = match.made_by(name, "Reshape")
    wide = merged and match.made_by(merged.inputs[0], "Expand")
    single = wide and match.made_by(wide.inputs[0], "Unsqueeze")
    if not merged or not wide or not single or match.axes(single) != [2]:
        return None
    return [single.inputs[0], wide.inputs[1], merged.inputs[1]]


def _attention(match: Matcher, node: Node, graph: Graph) -> tuple[list[str], dict[str, Any]] | None:
    weights, empty_rows = node.inputs[0], _NAN
    safe = match.only(weights, "Where")
    if safe is not None:  # Where(IsNaN(w), 0, w), as PyTorch writes it
        nan = match.only(safe.inputs[0], "IsNaN")
        if nan is None or nan.inputs[0] != safe.inputs[2] or match.scalar(safe.inputs[1]) != 0.0:
            return None
        softmax, empty_rows = match.made_by(safe.inputs[2], "Softmax"), "0.0f"
        if match.uses(safe.inputs[2]) != 2:
            return None
    else:
        softmax = match.only(weights, "Softmax")
    if softmax is None or graph.opset < 13 or not _along_last(graph, softmax.inputs[0], softmax):
        return None
    scores, scale, mask = softmax.inputs[0], 1.0, ""
    masked = match.only(scores, "Add")
    if masked is not None:
        split = either(masked, lambda scores, mask: (scores, mask) if _scores(match, scores) else None)
        if split is None:
            return None
        scores, mask = split
    scaled = match.only(scores, "Mul", "Div")
    if scaled is not None:
        inner = _scaled(match, scaled)
        if inner is None:
            return None
        scores, scale = inner
    product = match.only(scores, "MatMul")
    if product is None or product.inputs[1] in graph.constants:
        return None
    (q, scale_q), (k, scale_k) = (_unscaled(match, name) for name in product.inputs)
    causal = bool(mask) and _causal(match, mask)
    attributes: dict[str, Any] = {"scale": scale * scale_q * scale_k, "causal": int(causal), "empty_rows": empty_rows}
    return [q, k, node.inputs[1], "" if causal else mask], attributes


def _along_last(graph: Graph, name: str, node: Node) -> bool:
    """Whether a node's axis is the last of a value."""
    axis, rank = node.attributes.get("axis", -1), graph.ranks.get(name)
    return axis == -1 or (rank is not None and axis == rank - 1)


def _scores(match: Matcher, name: str) -> bool:
    """Whether a value is a product, or one times a number."""
    return match.only(_unscaled(match, name)[0], "MatMul") is not None


def _scaled(match: Matcher, node: Node) -> tuple[str, float] | None:
    """x and c where a node is c x."""
    if node.op == "Div":
        divisor = match.scalar(node.inputs[1])
        return (node.inputs[0], 1.0 / divisor) if divisor else None
    return either(node, lambda x, c: (x, number) if (number := match.scalar(c)) is not None else None)


def _unscaled(match: Matcher, name: str) -> tuple[str, float]:
    """A value without the number that it is multiplied with."""
    node = match.only(name, "Mul", "Div")
    scaled = _scaled(match, node) if node is not None else None
    return scaled or (name, 1.0)


def _causal(match: Matcher, mask: str) -> bool:
    """Where(Equal(Trilu(ones, lower), 0), -inf, 0): query i sees the keys 0 to i."""
    where = match.made_by(mask, "Where")
    equal = where and match.made_by(where.inputs[0], "Equal")
    if not where or not equal or match.scalar(equal.inputs[1]) != 0.0:
        return False
    hidden, visible = match.scalar(where.inputs[1]), match.scalar(where.inputs[2])
    triangle = match.made_by(equal.inputs[0], "Trilu")
    if triangle is None or hidden is None or hidden > _MASKED or visible != 0.0:
        return False
    lower = not triangle.attributes.get("upper", 1) and len(triangle.inputs) == 1
    ones = match.made_by(triangle.inputs[0], "Expand")
    return bool(lower and ones and match.is_scalar(ones.inputs[0], 1.0))
