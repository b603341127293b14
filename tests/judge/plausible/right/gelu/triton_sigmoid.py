# A Triton program per 1,024 elements, by the sigmoid of 2u.
#
# entry: gelu
# grid: ceil(n/BLOCK)
# constants: BLOCK=1024
import triton
import triton.language as tl


@triton.jit
def gelu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x * tl.sigmoid(1.5957691216057308 * x * (1 + 0.044715 * x * x)), mask=i < n)
