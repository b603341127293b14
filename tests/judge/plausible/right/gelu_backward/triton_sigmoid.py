# A Triton program per 512 elements.
#
# entry: gelu_backward
# grid: ceil(n/BLOCK)
# constants: BLOCK=512
import triton
import triton.language as tl


@triton.jit
def gelu_backward(x_ptr, dy_ptr, dx_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    dy = tl.load(dy_ptr + i, mask=i < n)
    s = tl.sigmoid(1.5957691216057308 * x * (1 + 0.044715 * x * x))
    dx = dy * (s + x * s * (1 - s) * 1.5957691216057308 * (1 + 0.134145 * x * x))
    tl.store(dx_ptr + i, dx, mask=i < n)
