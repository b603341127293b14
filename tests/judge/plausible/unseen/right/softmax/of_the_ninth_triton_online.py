# right: online maximum and sum, one loop
# grid: rows
# constants: BLOCK=2048
# warps: 8
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    m = tl.full((), float("-inf"), tl.float32)
    total = tl.full((), 0.0, tl.float32)
    for at in range(0, columns, BLOCK):
        v = tl.load(x + row * columns + at + lanes, mask=at + lanes < columns, other=float("-inf"))
        bigger = tl.maximum(m, tl.max(v, 0))
        safe = tl.where(bigger == float("-inf"), 0.0, bigger)
        total = total * tl.exp(m - safe) + tl.sum(tl.exp(v - safe), 0)
        m = bigger
    for at in range(0, columns, BLOCK):
        v = tl.load(x + row * columns + at + lanes, mask=at + lanes < columns, other=0.0)
        tl.store(y + row * columns + at + lanes, tl.exp(v - m) / total, mask=at + lanes < columns)
