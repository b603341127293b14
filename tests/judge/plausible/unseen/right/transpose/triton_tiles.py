# grid: ceil(M/BLOCK_M) ceil(N/BLOCK_N)
# constants: BLOCK_M=32 BLOCK_N=16
# warps: 4
# entry: transpose_kernel

import triton
import triton.language as tl


@triton.jit
def transpose_kernel(input_ptr, output_ptr, n_rows, n_cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    cols = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    tile = tl.load(input_ptr + rows[:, None] * n_cols + cols[None, :], mask=mask)
    turned = (cols[:, None] < n_cols) & (rows[None, :] < n_rows)
    tl.store(output_ptr + cols[:, None] * n_rows + rows[None, :], tl.trans(tile), mask=turned)
