// grid: 8
// block: 32 8
// fault: race
// kinds: race
// A persistent block turns tile after tile, with no barrier between reading the tile and filling it with the next one: a race as soon as a block has two tiles (more than 8 tiles of 32 x 32).

__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float tile[32][33];
    const int across = (N + 31) / 32, tiles = across * ((M + 31) / 32);
    for (int id = blockIdx.x; id < tiles; id += gridDim.x) {
        const int x0 = id % across * 32, y0 = id / across * 32;
        for (int k = threadIdx.y; k < 32; k += 8)
            if (y0 + k < M && x0 + threadIdx.x < N) tile[k][threadIdx.x] = in[(y0 + k) * N + x0 + threadIdx.x];
        __syncthreads();
        for (int k = threadIdx.y; k < 32; k += 8)
            if (x0 + k < N && y0 + threadIdx.x < M) out[(x0 + k) * M + y0 + threadIdx.x] = tile[threadIdx.x][k];
    }
}
