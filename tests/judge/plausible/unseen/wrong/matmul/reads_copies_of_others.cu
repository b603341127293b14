// grid: ceil(N/32) ceil(M/8)
// block: 32 8
// fault: a lane waits for its own cp.async and reads those of its warp without a __syncwarp()
// kinds: race
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[8][32];
    const int tx = threadIdx.x, ty = threadIdx.y, c = blockIdx.x * 32 + tx, r = blockIdx.y * 8 + ty;
    float s = 0;
    for (int k0 = 0; k0 < K; k0 += 32) {
        const bool ok = r < M && k0 + tx < K;
        const unsigned to = (unsigned)__cvta_generic_to_shared(&a[ty][tx]);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                     :: "r"(to), "l"(ok ? A + (size_t)r * K + k0 + tx : A), "r"(ok ? 4 : 0));
        asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
        if (c < N)
            for (int k = 0; k < min(32, K - k0); k++) s = fmaf(a[ty][k], B[(size_t)(k0 + k) * N + c], s);
        __syncwarp();
    }
    if (r < M && c < N) C[(size_t)r * N + c] = s;
}
