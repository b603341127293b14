# tl.dot over tiles of 16 x 16, accumulated in float32.
#
# entry: linear
# grid: ceil(N/BN) ceil(M/BM)
# constants: BM=16 BN=16 BK=32
import triton
import triton.language as tl


@triton.jit
def linear(x, weight, bias, y, M, N, steps, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(1) * BM + tl.arange(0, BM)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    K = steps * BK
    total = tl.zeros((BM, BN), tl.float32)
    for step in range(steps):
        a = tl.load(x + m[:, None] * K + step * BK + k[None, :], mask=m[:, None] < M, other=0.0)
        b = tl.load(weight + n[None, :] * K + step * BK + k[:, None], mask=n[None, :] < N, other=0.0)
        total += tl.dot(a, b)
    total += tl.load(bias + n, mask=n < N, other=0.0).to(tl.float32)[None, :]
    tl.store(y + m[:, None] * N + n[None, :], total.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))
