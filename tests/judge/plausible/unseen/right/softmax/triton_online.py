# right: Triton, online softmax in two passes over pieces of a row
# grid: rows
# constants: BLOCK=256
# warps: 2
import triton
import triton.language as tl


@triton.jit
def softmax(x_ptr, y_ptr, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    m = tl.full((BLOCK,), float("-inf"), tl.float32)
    s = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        o = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * columns + o, mask=o < columns, other=float("-inf"))
        top = tl.maximum(m, x)
        s = s * tl.where(m == top, 1.0, tl.exp(m - top)) + tl.where(
            x == float("-inf"), 0.0, tl.where(x == top, 1.0, tl.exp(x - top))
        )
        s = tl.where((x != x) | (x == float("inf")), float("nan"), s)
        m = top
    whole = tl.max(m, axis=0)
    total = tl.sum(tl.where(m == float("-inf"), 0.0, s * tl.where(m == whole, 1.0, tl.exp(m - whole))), axis=0)
    total = tl.sum(tl.where(s != s, s, 0.0), axis=0) + total
    for start in range(0, columns, BLOCK):
        o = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * columns + o, mask=o < columns, other=float("-inf"))
        tl.store(y_ptr + row * columns + o, tl.exp(x - whole) / total, mask=o < columns)
