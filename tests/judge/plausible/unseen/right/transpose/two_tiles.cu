// grid: 6
// block: 32 4
// Few persistent blocks with two tiles in shared memory by turns, so that one barrier per tile is enough.

__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ unsigned tile[2][32][33];
    const long long across = (N + 31) / 32, tiles = across * ((M + 31) / 32);
    const int tx = threadIdx.x, ty = threadIdx.y;
    int turn = 0;
    long long id = blockIdx.x;
    while (true) {
        if (id >= tiles) break;
        const int x0 = (int)(id % across) * 32, y0 = (int)(id / across) * 32;
        for (int k = ty; k < 32; k += 4)
            if (y0 + k < M && x0 + tx < N) tile[turn][k][tx] = __float_as_uint(__ldg(in + (size_t)(y0 + k) * N + x0 + tx));
        __syncthreads();                         // whoever is here has read the tile before the last
        for (int k = ty; k < 32; k += 4)
            if (x0 + k < N && y0 + tx < M) out[(size_t)(x0 + k) * M + y0 + tx] = __uint_as_float(tile[turn][tx][k]);
        turn ^= 1;
        id += gridDim.x;
    }
}
