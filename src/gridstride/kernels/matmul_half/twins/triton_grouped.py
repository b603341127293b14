# Triton: tiles go in groups of eight rows, so that programs at work together share what they read.
#
# entry: matmul
# grid: ceil(M/128)*ceil(N/128)
# constants: ROWS=128 COLUMNS=128 DEPTH=64 GROUP=8
# warps: 8
import triton
import triton.language as tl


@triton.jit
def matmul(A, B, C, M, N, K, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr):
    across, down = tl.cdiv(N, COLUMNS), tl.cdiv(M, ROWS)
    number = tl.program_id(0)
    first = number // (GROUP * across) * GROUP
    height = tl.minimum(down - first, GROUP)
    row, column = first + number % (GROUP * across) % height, number % (GROUP * across) // height
    m = (row * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    n = (column * COLUMNS + tl.arange(0, COLUMNS)).to(tl.int64)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, K, DEPTH):
        k = start + tl.arange(0, DEPTH)
        a = tl.load(A + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(B + k[:, None].to(tl.int64) * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        total = tl.dot(a, b, total)
    tl.store(C + m[:, None] * N + n[None, :], total.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))
