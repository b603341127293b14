// C = A B for A of M by K and B of K by N floats, in steps of a tile. No size need be a multiple of the tile.
//
// block: 32 32
// grid: ceil(N/32) ceil(M/32)

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
        // 1. a[y][x] is element (row, start + x) of A, b[y][x] is element (start + y, column) of B. And where there is none?

        // 2. What must happen before a thread may read what others have put there?

        // 3. TILE steps of the sum, from shared memory.

        // 4. What must happen before the next step fills the tiles again?
    }
    // 5. Who has an element of C to write?
}
