# A Triton program per row, walking over it twice.
#
# entry: softmax_backward
# grid: rows
# constants: BLOCK=512
import triton
import triton.language as tl


@triton.jit
def softmax_backward(y, dy, dx, rows, columns, BLOCK: tl.constexpr):
    base = tl.program_id(0).to(tl.int64) * columns
    products = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        a = tl.load(y + base + i, mask=i < columns, other=0.0)
        products += a * tl.load(dy + base + i, mask=i < columns, other=0.0)
    total = tl.sum(products)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        a = tl.load(y + base + i, mask=i < columns, other=0.0)
        b = tl.load(dy + base + i, mask=i < columns, other=0.0)
        tl.store(dx + base + i, a * (b - total), mask=i < columns)
