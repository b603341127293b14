// Early return. A thread without an element of C has no sum to make, and on every day so far such threads have gone home at
// the top. Here it has elements of A and B to fetch for the others, and barriers to come to.
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

    if (row >= M || column >= N) return;
    float sum = 0.0f;
    for (int start = 0; start < K; start += TILE) {
        a[y][x] = row < M && start + x < K ? A[(long long)row * K + start + x] : 0.0f;
        b[y][x] = start + y < K && column < N ? B[(long long)(start + y) * N + column] : 0.0f;
        __syncthreads();

        for (int k = 0; k < TILE; ++k) sum += a[y][k] * b[k][x];  // <- here
        __syncthreads();
    }
    if (row < M && column < N) C[(long long)row * N + column] = sum;
}
