// Direct. A row of A and a column of B for each thread, from global memory: right for every size, and short. Each float is
// fetched again by every warp of the block that needs it. Nothing is shared, which is all that the lab is about.
//
// block: 32 32
// grid: ceil(N/32) ceil(M/32)
// expect: too_many load_sectors

extern "C" __global__ void product(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        sum += A[(long long)row * K + k] * B[(long long)k * N + column];  // <- here
    }
    C[(long long)row * N + column] = sum;
}
