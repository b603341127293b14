# Triton: one program per 1,024 elements; tanh by an exponential, as in 03_exponential.cu.
#
# entry: gelu
# grid: ceil(n/1024)
# constants: BLOCK=1024
# warps: 4
import triton
import triton.language as tl


@triton.jit
def gelu(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    value = tl.load(x + i, mask=inside)
    inner = 1.5957691216057308 * (value + 0.044715 * value * value * value)  # twice tanh's argument
    tl.store(y + i, value / (1.0 + tl.exp(-inner)), mask=inside)
