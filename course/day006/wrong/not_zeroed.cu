// Not zeroed. Outside of the matrices there is nothing to load, and so nothing is done there. But the loop over k takes all
// 32 columns of the tile, and multiplies whatever lies in them: of the step before, or of nobody.
//
// block: 32 32
// grid: ceil(N/32) ceil(M/32)
// expect: uninitialised_read

constexpr int TILE = 32;  // rows and columns of a tile, and of the block

extern "C" __global__ void product(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[TILE][TILE];
    __shared__ float b[TILE][TILE];

    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * TILE + x;
    const int row = blockIdx.y * TILE + y;

    float sum = 0.0f;
    for (int start = 0; start < K; start += TILE) {
        if (row < M && start + x < K) {
            a[y][x] = A[(long long)row * K + start + x];
        }
        if (start + y < K && column < N) {
            b[y][x] = B[(long long)(start + y) * N + column];
        }
        __syncthreads();

        for (int k = 0; k < TILE; ++k) {
            sum += a[y][k] * b[k][x];  // <- here
        }
        __syncthreads();
    }
    if (row < M && column < N) C[(long long)row * N + column] = sum;
}
