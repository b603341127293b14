# Triton: one program per tile of C, in fp32 ("ieee"): tensor cores would round the factors to tf32.
#
# entry: matmul
# grid: ceil(N/64) ceil(M/64)
# constants: ROWS=64 COLUMNS=64 DEPTH=32
# warps: 8
import triton
import triton.language as tl


@triton.jit
def matmul(A, B, C, M, N, K, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    m = (tl.program_id(1) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    n = (tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)).to(tl.int64)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, K, DEPTH):
        k = start + tl.arange(0, DEPTH)
        a = tl.load(A + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(B + k[:, None].to(tl.int64) * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
    tl.store(C + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))
