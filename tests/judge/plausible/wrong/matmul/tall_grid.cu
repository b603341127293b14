// grid: 1 ceil(M*N/256)
// block: 256
// fault: launch
// kinds: launch
// An element per thread, blocks along y: 4096 x 4096 needs 65,536 of them, one more than there may be.
__global__ void mm_flat(const float* A, const float* B, float* C, int M, int N, int K)
{
    long long e = (long long)blockIdx.y * 256 + threadIdx.x;
    if (e >= (long long)M * N) return;
    int i = e / N, j = e % N;
    float s = 0;
    for (int k = 0; k < K; ++k) s += A[(size_t)i * K + k] * B[(size_t)k * N + j];
    C[e] = s;
}
