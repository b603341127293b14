# grid: ceil(M/BLOCK_M) ceil(N/BLOCK_N)
# constants: BLOCK_M=16 BLOCK_N=32
# warps: 2
# entry: linear_kernel

import triton
import triton.language as tl


@triton.jit
def linear_kernel(x_ptr, w_ptr, b_ptr, y_ptr, M, N, steps, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    width = steps * 32
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(steps):
        k = step * 32 + tl.arange(0, 32)
        x = tl.load(x_ptr + rows[:, None] * width + k[None, :], mask=rows[:, None] < M, other=0.0)
        w = tl.load(w_ptr + cols[None, :] * width + k[:, None], mask=cols[None, :] < N, other=0.0)
        acc += tl.dot(x, w)
    acc += tl.load(b_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)[None, :]
    tl.store(
        y_ptr + rows[:, None].to(tl.int64) * N + cols[None, :],
        acc.to(tl.float16),
        mask=(rows[:, None] < M) & (cols[None, :] < N),
    )
