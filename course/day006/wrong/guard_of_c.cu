// The guard of C. One condition seems to do for all three matrices: is my element of C there. The thread right of the edge of C
// has an element of A to load that is there, and brings a zero in its place. The threads to the left of it miss it.
//
// block: 32 32
// grid: ceil(N/32) ceil(M/32)
// expect: wrong_result

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
        const bool inside = row < M && column < N;
        a[y][x] = inside && start + x < K ? A[(long long)row * K + start + x] : 0.0f;
        b[y][x] = inside && start + y < K ? B[(long long)(start + y) * N + column] : 0.0f;
        __syncthreads();

        for (int k = 0; k < TILE; ++k) sum += a[y][k] * b[k][x];
        __syncthreads();
    }
    if (row < M && column < N) C[(long long)row * N + column] = sum;
}
