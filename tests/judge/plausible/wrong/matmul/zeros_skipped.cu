// grid: M
// block: 128
// fault: NaN and infinity
// kinds: wrong_result
// A sparse trick: where A is 0 the row of B is not read. 0 times infinity is NaN, though.
__global__ void sparse_rows(const float* A, const float* B, float* C, int M, int N, int K)
{
    const float* a = A + (size_t)blockIdx.x * K;
    for (int j = threadIdx.x; j < N; j += blockDim.x) {
        float s = 0;
        for (int k = 0; k < K; ++k)
            if (a[k] != 0.0f) s = fmaf(a[k], B[(size_t)k * N + j], s);
        C[(size_t)blockIdx.x * N + j] = s;
    }
}
