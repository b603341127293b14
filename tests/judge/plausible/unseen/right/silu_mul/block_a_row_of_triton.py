# grid: N
# constants: BLOCK_SIZE=512
# warps: 4
# entry: swiglu_kernel

import triton
import triton.language as tl


@triton.jit
def swiglu_kernel(x_ptr, y_ptr, n_rows, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    for start in range(0, n_cols, BLOCK_SIZE):
        cols = start + tl.arange(0, BLOCK_SIZE)
        mask = cols < n_cols
        gate = tl.load(x_ptr + row * 2 * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
        up = tl.load(x_ptr + row * 2 * n_cols + n_cols + cols, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + row * n_cols + cols, (gate * tl.sigmoid(gate) * up).to(tl.float16), mask=mask)


def swiglu(x, y):
    n_rows, n_cols = y.shape
    swiglu_kernel[(n_rows,)](x, y, n_rows, n_cols, BLOCK_SIZE=512, num_warps=4)
    return y
