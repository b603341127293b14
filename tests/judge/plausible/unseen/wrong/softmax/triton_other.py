# grid: rows
# constants: BLOCK=1024
# warps: 4
# fault: other=0 in maximum
# kinds: wrong_result
# Lanes past the row load 0, which is the maximum where all elements are far below zero.
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    m = tl.full((), float("-inf"), tl.float32)
    for at in range(0, columns, BLOCK):
        v = tl.load(x + row * columns + at + lanes, mask=at + lanes < columns, other=0.0)
        m = tl.maximum(m, tl.max(v, 0))
    total = tl.full((), 0.0, tl.float32)
    for at in range(0, columns, BLOCK):
        v = tl.load(x + row * columns + at + lanes, mask=at + lanes < columns, other=float("-inf"))
        total += tl.sum(tl.exp(v - m), 0)
    for at in range(0, columns, BLOCK):
        v = tl.load(x + row * columns + at + lanes, mask=at + lanes < columns, other=0.0)
        tl.store(y + row * columns + at + lanes, tl.exp(v - m) / total, mask=at + lanes < columns)
