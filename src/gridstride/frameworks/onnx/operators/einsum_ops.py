"""Einstein's sums: operands as views over labels, multiplied two by two, summed over labels that nobody asks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from gridstride.frameworks.onnx.elementwise import evaluate
from gridstride.frameworks.onnx.expressions import FLOATS, computed_type
from gridstride.frameworks.onnx.generated_kernel import Operand
from gridstride.frameworks.onnx.launcher import Launcher
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.operators.product_ops import Epilogue, product
from gridstride.frameworks.onnx.operators.reduction_ops import SUM_OF, reduced
from gridstride.frameworks.onnx.registry import Call, operator
from gridstride.frameworks.onnx.tensors import Tensor, Value


@dataclass(frozen=True, slots=True)
class LabelledTensor:
    """A tensor and a label for each axis; those of an ellipsis are numbers, from the last one back."""

    tensor: Tensor
    labels: tuple[str, ...]


@operator("Einsum")
def einsum(call: Call) -> Value:
    text = str(call.get("equation", "")).replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(call.values):
        raise OnnxError(f"equation {text!r} has {len(terms)} terms for {len(call.values)} inputs")
    operands = [_labelled(call.tensor(i), term, text) for i, term in enumerate(terms)]
    output_labels = _output_labels(operands, right if arrow else None, text)
    _check_sizes(operands, text)
    total = operands[0]
    for number, other in enumerate(operands[1:], 2):
        later = {label for operand in operands[number:] for label in operand.labels}
        total = _joined(call.run, total, other, {*output_labels, *later})
    total = _summed(call.run, total, set(output_labels))
    if missing := [label for label in output_labels if label not in total.labels]:
        raise OnnxError(f"equation {text!r}: no input has the label {missing[0]}")
    return total.tensor.permuted([total.labels.index(label) for label in output_labels])


def _labelled(x: Tensor, term: str, text: str) -> LabelledTensor:
    leading, dots, trailing = term.partition("...")
    hidden = len(x.shape) - len(leading) - len(trailing)
    if hidden < 0 or (hidden and not dots) or not (leading + trailing + "x").isalpha():
        raise OnnxError(f"equation {text!r}: the term {term!r} does not fit an input of shape {list(x.shape)}")
    labels = [*leading, *(f"{n}" for n in range(hidden, 0, -1)), *trailing]
    return _diagonal(LabelledTensor(x, tuple(labels)), text)


def _diagonal(operand: LabelledTensor, text: str) -> LabelledTensor:
    """A label that stands twice is one axis, which steps along both."""
    labels = tuple(dict.fromkeys(operand.labels))
    shape, strides = [], []
    for label in labels:
        axes = [i for i, axis_label in enumerate(operand.labels) if axis_label == label]
        sizes = {operand.tensor.shape[i] for i in axes}
        if len(sizes) > 1:
            raise OnnxError(f"equation {text!r}: axes of the label {label} have sizes {sorted(sizes)}")
        shape.append(sizes.pop())
        strides.append(sum(operand.tensor.strides[i] for i in axes))
    return LabelledTensor(operand.tensor.view(shape, strides), labels)


def _output_labels(operands: Sequence[LabelledTensor], right: str | None, text: str) -> list[str]:
    """Labels of the result; without an arrow those that stand once, sorted, behind the ellipsis."""
    hidden = sorted(
        {label for operand in operands for label in operand.labels if label.isdigit()}, key=int, reverse=True
    )
    if right is None:
        terms = text.replace("...", "").replace(",", "")
        return [*hidden, *sorted(label for label, n in Counter(terms).items() if n == 1)]
    leading, dots, trailing = right.partition("...")
    labels = [*leading, *(hidden if dots else ()), *trailing]
    if len(set(labels)) < len(labels):
        raise OnnxError(f"equation {text!r}: a label stands twice in the result")
    return labels


def _check_sizes(operands: Sequence[LabelledTensor], text: str) -> None:
    sizes: dict[str, int] = {}
    for operand in operands:
        for label, n in zip(operand.labels, operand.tensor.shape, strict=True):
            size = sizes.setdefault(label, n)
            if size != n and 1 not in (size, n):
                raise OnnxError(f"equation {text!r}: axes of the label {label} have sizes {size} and {n}")
            sizes[label] = max(size, n)


def _summed(run: Launcher, operand: LabelledTensor, remaining: set[str]) -> LabelledTensor:
    axes = [i for i, label in enumerate(operand.labels) if label not in remaining]
    if not axes:
        return operand
    total = reduced(run, operand.tensor, axes, SUM_OF, keep=False)
    return LabelledTensor(total, tuple(label for label in operand.labels if label in remaining))


def _joined(run: Launcher, a: LabelledTensor, b: LabelledTensor, remaining: set[str]) -> LabelledTensor:
    """Their product, summed over labels that are not kept."""
    a, b = _summed(run, a, remaining | set(b.labels)), _summed(run, b, remaining | set(a.labels))
    shared = [label for label in a.labels if label in b.labels]
    sizes_match = all(a.tensor.shape[a.labels.index(n)] == b.tensor.shape[b.labels.index(n)] for n in shared)
    if sizes_match and a.tensor.dtype.name in FLOATS and a.tensor.dtype == b.tensor.dtype:
        return _by_products(run, a, b, remaining)
    labels = tuple(dict.fromkeys((*a.labels, *b.labels)))
    kind = computed_type(a.tensor.dtype, "an operand")
    views = [_over(operand, labels) for operand in (a, b)]
    lines = [f"const {kind} a{n} = ({kind})x{n}[p{n}];" for n in range(2)]
    operands = [Operand(view.dtype, view) for view in views]
    operand = evaluate(run, "einsum", lines, "a0 * a1", a.tensor.dtype, operands)
    return _summed(run, LabelledTensor(operand, labels), remaining)


def _over(operand: LabelledTensor, labels: Sequence[str]) -> Tensor:
    """The tensor with an axis for each label; those that it has not are of size 1."""
    axes = [(operand.tensor.shape[i], operand.tensor.strides[i]) for i in map(operand.labels.index, operand.labels)]
    axis_of = dict(zip(operand.labels, axes, strict=True))
    pairs = [axis_of.get(label, (1, 0)) for label in labels]
    return operand.tensor.view([n for n, _ in pairs], [step for _, step in pairs])


def _by_products(run: Launcher, a: LabelledTensor, b: LabelledTensor, remaining: set[str]) -> LabelledTensor:
    """As a batch of products of matrices."""
    shared = [label for label in a.labels if label in b.labels]
    batch, depth = [n for n in shared if n in remaining], [n for n in shared if n not in remaining]
    rows, columns = [n for n in a.labels if n not in shared], [n for n in b.labels if n not in shared]
    left, right = _over(a, [*batch, *rows, *depth]), _over(b, [*batch, *depth, *columns])
    sizes = left.shape[: len(batch)]
    m, n = left.shape[len(batch) : len(batch) + len(rows)], right.shape[len(batch) + len(depth) :]
    k = prod(left.shape[len(batch) + len(rows) :])
    left_matrix = run.contiguous(left).reshaped([prod(sizes), prod(m), k])
    right_matrix = run.contiguous(right).reshaped([prod(sizes), k, prod(n)])
    out = product(run, left_matrix, right_matrix, Epilogue()).reshaped([*sizes, *m, *n])
    return LabelledTensor(out, (*batch, *rows, *columns))
