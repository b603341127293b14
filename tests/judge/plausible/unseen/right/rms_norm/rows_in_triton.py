# grid: N
# constants: BLOCK_SIZE=1024
# warps: 4
# entry: fused_add_rms_norm

import triton
import triton.language as tl


@triton.jit
def fused_add_rms_norm(x_ptr, d_ptr, w_ptr, y_ptr, n_rows, n_cols, eps, BLOCK_SIZE: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * n_cols
    squares = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, n_cols, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        mask = cols < n_cols
        x = tl.load(x_ptr + start + cols, mask=mask, other=0.0).to(tl.float32)
        x += tl.load(d_ptr + start + cols, mask=mask, other=0.0).to(tl.float32)
        x = x.to(tl.float16)
        squares += x.to(tl.float32) * x.to(tl.float32)
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / n_cols + eps)
    for off in range(0, n_cols, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        mask = cols < n_cols
        x = tl.load(x_ptr + start + cols, mask=mask, other=0.0).to(tl.float32)
        x += tl.load(d_ptr + start + cols, mask=mask, other=0.0).to(tl.float32)
        x = x.to(tl.float16)
        w = tl.load(w_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        tl.store(x_ptr + start + cols, x, mask=mask)
        tl.store(y_ptr + start + cols, (x.to(tl.float32) * rstd * w).to(tl.float16), mask=mask)
