// 04 swizzled: 16 bytes per access everywhere, 4x4 pieces turned in registers, a swizzle instead of padding.
//
// Moves: memory instructions per element, to 1/4, and bytes on their way per thread, from 16 to 64. A row of the tile
//   stays 256 bytes, so float4 accesses stay aligned; the swizzle sends the lanes of a request to different banks.
// Mapping: 256 threads turn a 64x64 tile. Thread t reads the 4x4 piece at rows 4 * (t / 16), columns 4 * (t % 16);
//   it writes output rows t / 16, + 16, + 32, + 48, columns 4 * (t % 16) ... + 3.
//
// entry: transpose_swizzled
// block: 256
// grid: ceil(N/64) ceil(M/64)

constexpr int TILE = 64;           // rows and columns of a tile, in floats
constexpr int GROUPS = TILE / 4;   // float4 per row of the tile

// Four floats of a row from `column` on; what lies outside the matrix is 0. `vectors`: rows are 16-byte aligned.
__device__ __forceinline__ float4 load4(const float* matrix, int row, int column, int rows, int columns, bool vectors)
{
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (row >= rows) return v;
    const float* p = matrix + (size_t)row * columns + column;
    if (vectors) {
        if (column < columns) v = *reinterpret_cast<const float4*>(p);
    } else {
        if (column < columns) v.x = p[0];
        if (column + 1 < columns) v.y = p[1];
        if (column + 2 < columns) v.z = p[2];
        if (column + 3 < columns) v.w = p[3];
    }
    return v;
}

__device__ __forceinline__ void store4(float* matrix, int row, int column, int rows, int columns, bool vectors,
                                       float4 v)
{
    if (row >= rows) return;
    float* p = matrix + (size_t)row * columns + column;
    if (vectors) {
        if (column < columns) *reinterpret_cast<float4*>(p) = v;
    } else {
        if (column < columns) p[0] = v.x;
        if (column + 1 < columns) p[1] = v.y;
        if (column + 2 < columns) p[2] = v.z;
        if (column + 3 < columns) p[3] = v.w;
    }
}

// Group `group` of turned row `row`. Rows of one group of four share a swizzle, so eight lanes that store to rows
// 4p + j for p = 0...7 (or read one row) always meet eight different groups of four banks.
__device__ __forceinline__ int slot(int row, int group)
{
    return row * GROUPS + (group ^ (row / 4 % GROUPS));
}

extern "C" __global__ void __launch_bounds__(256)
transpose_swizzled(const float* __restrict__ in, float* __restrict__ out, int M, int N)
{
    __shared__ float4 tile[TILE * GROUPS];

    const int p = threadIdx.x % GROUPS, q = threadIdx.x / GROUPS;
    const int first_row = blockIdx.y * TILE, first_column = blockIdx.x * TILE;
    const bool vectors = M % 4 == 0 && N % 4 == 0 && (((size_t)in | (size_t)out) & 15) == 0;

    float4 piece[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) piece[i] = load4(in, first_row + 4 * q + i, first_column + 4 * p, M, N, vectors);
    tile[slot(4 * p + 0, q)] = make_float4(piece[0].x, piece[1].x, piece[2].x, piece[3].x);
    tile[slot(4 * p + 1, q)] = make_float4(piece[0].y, piece[1].y, piece[2].y, piece[3].y);
    tile[slot(4 * p + 2, q)] = make_float4(piece[0].z, piece[1].z, piece[2].z, piece[3].z);
    tile[slot(4 * p + 3, q)] = make_float4(piece[0].w, piece[1].w, piece[2].w, piece[3].w);
    __syncthreads();

#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int row = q + i * GROUPS;
        store4(out, first_column + row, first_row + 4 * p, N, M, vectors, tile[slot(row, p)]);
    }
}
