# Triton: one program per row; where the row fits into BLOCK it is read once, as in 03_registers.cu.
#
# entry: layer_norm
# grid: rows
# constants: BLOCK=4096
# warps: 8
import triton
import triton.language as tl


@triton.jit
def layer_norm(x, weight, bias, y, mean, rstd, rows, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    start = row.to(tl.int64) * columns
    if columns <= BLOCK:
        i = tl.arange(0, BLOCK)
        inside = i < columns
        value = tl.load(x + start + i, mask=inside, other=0.0)
        centre = tl.sum(value, axis=0) / columns
        deviation = tl.where(inside, value - centre, 0.0)
        scale = 1.0 / tl.sqrt(tl.sum(deviation * deviation, axis=0) / columns + eps)
        factor = tl.load(weight + i, mask=inside, other=0.0)
        offset = tl.load(bias + i, mask=inside, other=0.0)
        tl.store(y + start + i, deviation * scale * factor + offset, mask=inside)
    else:
        total = tl.zeros((BLOCK,), tl.float32)
        for first in range(0, columns, BLOCK):
            i = first + tl.arange(0, BLOCK)
            total += tl.load(x + start + i, mask=i < columns, other=0.0)
        centre = tl.sum(total, axis=0) / columns
        squares = tl.zeros((BLOCK,), tl.float32)
        for first in range(0, columns, BLOCK):
            i = first + tl.arange(0, BLOCK)
            deviation = tl.where(i < columns, tl.load(x + start + i, mask=i < columns, other=0.0) - centre, 0.0)
            squares += deviation * deviation
        scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / columns + eps)
        for first in range(0, columns, BLOCK):
            i = first + tl.arange(0, BLOCK)
            value = tl.load(x + start + i, mask=i < columns, other=0.0)
            factor = tl.load(weight + i, mask=i < columns, other=0.0)
            offset = tl.load(bias + i, mask=i < columns, other=0.0)
            tl.store(y + start + i, (value - centre) * scale * factor + offset, mask=i < columns)
    tl.store(mean + row, centre)
    tl.store(rstd + row, scale)
