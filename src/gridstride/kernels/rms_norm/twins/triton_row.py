# Triton: one program per row, which is read a second time after the sum of its squares.
#
# entry: add_rms_norm
# grid: N
# constants: BLOCK=2048
# warps: 4
import triton
import triton.language as tl


@triton.jit
def add_rms_norm(residual, delta, weight, out, N, W, eps, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * W
    squares = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, W, BLOCK):
        i = first + tl.arange(0, BLOCK)
        inside = i < W
        value = tl.load(residual + start + i, mask=inside, other=0.0).to(tl.float32)
        value += tl.load(delta + start + i, mask=inside, other=0.0).to(tl.float32)
        squares += value * value
    scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / W + eps)
    for first in range(0, W, BLOCK):
        i = first + tl.arange(0, BLOCK)
        inside = i < W
        value = tl.load(residual + start + i, mask=inside, other=0.0).to(tl.float32)
        value += tl.load(delta + start + i, mask=inside, other=0.0).to(tl.float32)
        factor = tl.load(weight + i, mask=inside, other=0.0).to(tl.float32)
        tl.store(residual + start + i, value.to(tl.float16), mask=inside)
        tl.store(out + start + i, (value * scale * factor).to(tl.float16), mask=inside)
