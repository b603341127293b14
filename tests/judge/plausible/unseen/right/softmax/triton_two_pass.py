# Triton, one program per row, the row in blocks of 1024: maximum and sum online, then the result.
# constants: BLOCK=1024
# warps: 4
# grid: rows
import triton
import triton.language as tl


@triton.jit
def softmax(x_ptr, y_ptr, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x = x_ptr + row * columns
    y = y_ptr + row * columns
    top = tl.full((), float("-inf"), tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + at, at < columns, float("-inf"))
        top = tl.maximum(top, tl.max(v, 0))
    total = tl.zeros((), tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + at, at < columns, float("-inf"))
        total += tl.sum(tl.where(at < columns, tl.exp(v - top), 0.0), 0)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + at, at < columns, float("-inf"))
        tl.store(y + at, tl.exp(v - top) / total, at < columns)
