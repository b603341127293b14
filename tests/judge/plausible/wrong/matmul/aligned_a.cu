// grid: ceil(N/32) ceil(M/4)
// block: 32 4
// fault: alignment
// kinds: misaligned
// Reads A by float4 where K is a multiple of 4, whatever the address at which A itself begins.
__global__ void mm_a4(const float* A, const float* B, float* C, int M, int N, int K)
{
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 4 + threadIdx.y;
    if (c >= N || r >= M) return;
    const float* a = A + (size_t)r * K;
    float s = 0;
    int k = 0;
    if (K % 4 == 0)
        for (; k < K; k += 4) {
            float4 v = __ldg((const float4*)(a + k));
            s += v.x * B[(size_t)k * N + c] + v.y * B[(size_t)(k + 1) * N + c];
            s += v.z * B[(size_t)(k + 2) * N + c] + v.w * B[(size_t)(k + 3) * N + c];
        }
    for (; k < K; ++k) s += a[k] * B[(size_t)k * N + c];
    C[(size_t)r * N + c] = s;
}
