# Triton: one program per row, whose maximum and sum are carried along as it is read once.
#
# entry: cross_entropy
# grid: rows
# constants: BLOCK=2048
# warps: 4
import triton
import triton.language as tl


@triton.jit
def cross_entropy(logits, labels, loss, lse, rows, classes, ignore_index, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    start = row.to(tl.int64) * classes
    largest = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, classes, BLOCK):
        i = first + tl.arange(0, BLOCK)
        value = tl.load(logits + start + i, mask=i < classes, other=-float("inf"))
        now = tl.maximum(largest, value, propagate_nan=tl.PropagateNan.ALL)
        down = tl.where(now == -float("inf"), 0.0, now)  # nothing yet: -Inf - -Inf would be NaN
        total = total * tl.exp(largest - down) + tl.exp(value - down)
        largest = now
    top = tl.max(largest, axis=0)
    down = tl.where(top == -float("inf"), 0.0, top)
    power = tl.log(tl.sum(total * tl.exp(largest - down), axis=0))
    label = tl.load(labels + row)
    ignored = label == ignore_index
    is_class = (label >= 0) & (label < classes)
    logit = tl.load(logits + start + label, mask=is_class & ~ignored, other=float("nan"))
    tl.store(loss + row, tl.where(ignored, 0.0, power + (top - logit)))  # in this order nothing large is taken away
    tl.store(lse + row, tl.where(ignored, 0.0, top + power))
