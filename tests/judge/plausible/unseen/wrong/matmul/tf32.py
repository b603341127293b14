# grid: ceil(M/32) ceil(N/32)
# constants: BM=32 BN=32 BK=32
# warps: 4
# fault: TF32 by default
# kinds: wrong_result
# tl.dot of float32 takes TF32 unless it is told otherwise: ten bits of mantissa.
import triton
import triton.language as tl


@triton.jit
def matmul(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        a = tl.load(A + i[:, None] * K + k[None, :], mask=(i[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(B + k[:, None] * N + j[None, :], mask=(k[:, None] < K) & (j[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(C + i[:, None] * N + j[None, :], acc, mask=(i[:, None] < M) & (j[None, :] < N))
