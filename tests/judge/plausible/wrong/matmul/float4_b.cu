// grid: ceil(N/64) M
// block: 16
// fault: tail of 4
// kinds: misaligned out_of_bounds wrong_result
// Four columns per thread through float4: an N that is no multiple of 4 misaligns the rows and overruns the last.
__global__ void mm4(const float* A, const float* B, float* C, int M, int N, int K)
{
    int j = 4 * (blockIdx.x * 16 + threadIdx.x), i = blockIdx.y;
    if (j >= N) return;
    float4 s = {0, 0, 0, 0};
    for (int k = 0; k < K; ++k) {
        float a = A[i * K + k];
        float4 b = *(const float4*)&B[k * N + j];
        s.x += a * b.x; s.y += a * b.y; s.z += a * b.z; s.w += a * b.w;
    }
    *(float4*)&C[i * N + j] = s;
}
