# grid: rows
# warps: 4
# Three passes over the row in pieces
# constants: BLOCK=1024
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    m = -float("inf")
    for c in range(0, columns, BLOCK):
        o = c + tl.arange(0, BLOCK)
        v = tl.load(x + row * columns + o, mask=o < columns, other=-float("inf"))
        m = tl.maximum(m, tl.max(v, 0))
    total = 0.0
    for c in range(0, columns, BLOCK):
        o = c + tl.arange(0, BLOCK)
        v = tl.load(x + row * columns + o, mask=o < columns, other=-float("inf"))
        total += tl.sum(tl.where(o < columns, tl.exp(v - m), 0.0), 0)
    for c in range(0, columns, BLOCK):
        o = c + tl.arange(0, BLOCK)
        v = tl.load(x + row * columns + o, mask=o < columns, other=-float("inf"))
        tl.store(y + row * columns + o, tl.exp(v - m) / total, mask=o < columns)
