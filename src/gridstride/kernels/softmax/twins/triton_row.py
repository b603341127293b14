# Triton: one program per row; what 04_registers.cu writes out, its compiler arranges by itself.
#
# entry: softmax
# grid: rows
# constants: BLOCK=4096
# warps: 8
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, rows, columns, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * columns
    if columns <= BLOCK:  # the row is kept between its load and its result
        i = tl.arange(0, BLOCK)
        value = tl.load(x + start + i, mask=i < columns, other=-float("inf"))
        power = tl.exp(value - tl.max(value, axis=0))
        tl.store(y + start + i, power / tl.sum(power, axis=0), mask=i < columns)
    else:
        largest = tl.full((BLOCK,), -float("inf"), tl.float32)
        total = tl.zeros((BLOCK,), tl.float32)
        for first in range(0, columns, BLOCK):
            i = first + tl.arange(0, BLOCK)
            value = tl.load(x + start + i, mask=i < columns, other=-float("inf"))
            now = tl.maximum(largest, value)
            down = tl.where(now == -float("inf"), 0.0, now)  # nothing yet: -Inf - -Inf would be NaN
            total = total * tl.exp(largest - down) + tl.exp(value - down)
            largest = now
        row = tl.max(largest, axis=0)
        down = tl.where(row == -float("inf"), 0.0, row)
        factor = 1.0 / tl.sum(total * tl.exp(largest - down), axis=0)
        for first in range(0, columns, BLOCK):
            i = first + tl.arange(0, BLOCK)
            value = tl.load(x + start + i, mask=i < columns, other=0.0)
            tl.store(y + start + i, tl.exp(value - row) * factor, mask=i < columns)
