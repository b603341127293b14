// C = A B for A of M by K and B of K by N floats, with tiles of 32 by 32. The block need not have a thread for each
// element of a tile: it has ROWS rows of threads, and each thread takes care of EACH rows of the tiles.
//
// block: 32 32
// grid: ceil(N/32) ceil(M/32)

constexpr int TILE = 32;           // rows and columns of a tile
constexpr int ROWS = 32;           // 1. Of threads in a block. The second number of `block` above says the same.
constexpr int EACH = TILE / ROWS;  // rows of a tile for a thread

// 2. What must the compiler be told, so that as many blocks fit as you want? It stands between `void` and `product`.
extern "C" __global__ void
product(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[TILE][TILE];
    __shared__ float b[TILE][TILE];

    const int x = threadIdx.x, y = threadIdx.y;
    const int top = blockIdx.y * TILE;  // the block's first row of C
    const int column = blockIdx.x * TILE + x;

    float sum[EACH] = {};  // of rows y, y + ROWS, y + 2 ROWS, … of the tile
    for (int start = 0; start < K; start += TILE) {
        for (int i = 0; i < EACH; ++i) {
            const int r = y + ROWS * i;  // row of both tiles
            // 3. a[r][x] is element (top + r, start + x) of A, b[r][x] is element (start + r, column) of B, or 0.
        }
        __syncthreads();

        // 4. For each k of the tile: EACH sums, each with its own row of `a`.
        __syncthreads();
    }
    // 5. EACH elements of C, as far as they lie within it.
}
