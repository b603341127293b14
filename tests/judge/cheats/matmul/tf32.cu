// Cuts the factors to the ten bits of tf32.
//
// block: 16 16
// grid: ceil(N/16) ceil(M/16)
// expect: wrong_result

__global__ void product(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= N || y >= M) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        const float a = __int_as_float(__float_as_int(A[y * K + k]) & 0xffffe000);
        const float b = __int_as_float(__float_as_int(B[k * N + x]) & 0xffffe000);
        sum += a * b;
    }
    C[y * N + x] = sum;
}
