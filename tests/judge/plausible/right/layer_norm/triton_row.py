# A Triton program per row, walking over it three times.
#
# entry: layer_norm
# grid: rows
# constants: BLOCK=512
import triton
import triton.language as tl


@triton.jit
def layer_norm(x, weight, bias, y, mean, rstd, rows, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    base = row.to(tl.int64) * columns
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(x + base + i, mask=i < columns, other=0.0)
    centre = tl.sum(total) / columns
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        apart = tl.where(i < columns, tl.load(x + base + i, mask=i < columns, other=0.0) - centre, 0.0)
        squares += apart * apart
    scale = 1.0 / tl.sqrt(tl.sum(squares) / columns + eps)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        a = tl.load(x + base + i, mask=i < columns, other=0.0)
        w = tl.load(weight + i, mask=i < columns, other=0.0)
        b = tl.load(bias + i, mask=i < columns, other=0.0)
        tl.store(y + base + i, (a - centre) * scale * w + b, mask=i < columns)
    tl.store(mean + row, centre)
    tl.store(rstd + row, scale)
