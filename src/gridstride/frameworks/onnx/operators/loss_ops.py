"""Losses of classes: negative log-likelihood, and the same of the logarithm of a softmax."""

from __future__ import annotations

from math import prod

from gridstride.frameworks.onnx.elementwise import evaluate
from gridstride.frameworks.onnx.expressions import c_type, computed_type
from gridstride.frameworks.onnx.generated_kernel import Operand
from gridstride.frameworks.onnx.launcher import ceil_div, summed_element
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.operators.reduction_ops import SUM_OF, log_softmax, reduced
from gridstride.frameworks.onnx.registry import Call, Results, operator
from gridstride.frameworks.onnx.tensors import Tensor, Value
from gridstride.virtual.findings.finding import KernelFault

THREADS = 256


@operator("NegativeLogLikelihoodLoss")
def negative_log_likelihood(call: Call) -> Value:
    return _likelihood(call, call.dense(0))


@operator("SoftmaxCrossEntropyLoss")
def cross_entropy(call: Call) -> Results:
    x = call.tensor(0)
    _check_classes(x)
    logarithms = call.run.contiguous(log_softmax(call, x, 1))
    loss = _likelihood(call, logarithms)
    return [loss, logarithms] if len(call.node.outputs) > 1 and call.node.outputs[1] else loss


def _check_classes(x: Tensor) -> None:
    if len(x.shape) < 2:
        raise OnnxError(f"scores of shape {list(x.shape)}: [N, classes, …] are needed")


def _likelihood(call: Call, x: Tensor) -> Tensor:
    """Of logarithms [N, classes, …], as `reduction` has it."""
    _check_classes(x)
    run, target, class_weights = call.run, call.dense(1), call.optional(2)
    shape, classes = (x.shape[0], *x.shape[2:]), x.shape[1]
    if target.shape != shape:
        raise OnnxError(f"scores {list(x.shape)} need classes of shape {list(shape)}, these are {list(target.shape)}")
    if class_weights is not None and class_weights.shape != (classes,):
        raise OnnxError(f"{classes} classes need as many weights, these are {list(class_weights.shape)}")
    loss, weight = run.empty(shape, x.dtype), run.empty(shape, x.dtype)
    if loss.size:
        ignored = call.get("ignore_index")
        kernel = run.own("loss.cu", "onnx_negative_log_likelihood", INDEX=c_type(target.dtype, "a class"),
                         **summed_element(x, "scores"))  # fmt: skip
        sizes = [loss.size, classes, prod(x.shape[2:]), int(ignored is not None), ignored or 0]
        try:
            run.launch(kernel, ceil_div(loss.size, THREADS), THREADS, [x, target, class_weights, loss, weight, *sizes])
        except KernelFault as fault:
            if not any(finding.kind == "trap" for finding in fault.findings):
                raise
            raise OnnxError(f"a class is out of range: scores of shape {list(x.shape)} have {classes}") from fault
    reduction, axes = call.get("reduction", "mean"), list(range(len(shape)))
    if reduction == "none":
        return loss
    total = reduced(run, loss, axes, SUM_OF, keep=False)
    if reduction == "sum":
        return total
    operands = [Operand(tensor.dtype, tensor) for tensor in (total, reduced(run, weight, axes, SUM_OF, keep=False))]
    kind = computed_type(x.dtype, "scores")
    lines = [f"const {kind} a{n} = ({kind})x{n}[p{n}];" for n in range(2)]
    return evaluate(run, "mean_loss", lines, "a0 / a1", x.dtype, operands)
