// grid: ceil(N/32) ceil(M/8)
// block: 32 8
// fault: index type
// kinds: timeout deadlock
// The loop variable over k is an unsigned char "to save registers": K of 256 and more never ends.
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K)
{
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    if (c >= N || r >= M) return;
    float s = 0;
    for (unsigned char k = 0; k < K; ++k) s += A[r * K + k] * B[k * N + c];
    C[r * N + c] = s;
}
