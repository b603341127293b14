# A Triton program per row, walking over it twice.
#
# entry: rms
# grid: N
# constants: BLOCK=512
import triton
import triton.language as tl


@triton.jit
def rms(residual, delta, weight, out, N, W, eps, BLOCK: tl.constexpr):
    base = tl.program_id(0) * W
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, W, BLOCK):
        i = start + tl.arange(0, BLOCK)
        r = tl.load(residual + base + i, mask=i < W, other=0.0).to(tl.float32)
        x = r + tl.load(delta + base + i, mask=i < W, other=0.0).to(tl.float32)
        squares += x * x
    scale = 1.0 / tl.sqrt(tl.sum(squares) / W + eps)
    for start in range(0, W, BLOCK):
        i = start + tl.arange(0, BLOCK)
        r = tl.load(residual + base + i, mask=i < W, other=0.0).to(tl.float32)
        x = r + tl.load(delta + base + i, mask=i < W, other=0.0).to(tl.float32)
        w = tl.load(weight + i, mask=i < W, other=0.0).to(tl.float32)
        tl.store(residual + base + i, x.to(tl.float16), mask=i < W)
        tl.store(out + base + i, (x * scale * w).to(tl.float16), mask=i < W)
