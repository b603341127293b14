// grid: ceil(n/256)
// block: 256
// fault: missing fence
// kinds: race
// A tile's flag and its value in two words of a struct, each stored by itself and no fence between them.
struct Tile { float value; unsigned flag; };
__device__ Tile tiles[1 << 23];
__device__ unsigned ticket, left;
__global__ void scan(const float* x, float* y, int n)
{
    __shared__ float s[256], before;
    __shared__ unsigned tile;
    int t = threadIdx.x;
    if (t == 0) tile = atomicAdd(&ticket, 1u);
    __syncthreads();
    long long i = tile * 256LL + t;
    s[t] = i < n ? x[i] : 0;
    for (int d = 1; d < 256; d *= 2) {
        __syncthreads();
        float v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
    }
    __syncthreads();
    if (t == 0) {
        before = 0;
        if (tile > 0) {
            while (*(volatile unsigned*)&tiles[tile - 1].flag == 0) {}
            before = tiles[tile - 1].value;
            tiles[tile - 1].flag = 0;
        }
        if (tile + 1 < gridDim.x) {
            tiles[tile].value = before + s[255];
            *(volatile unsigned*)&tiles[tile].flag = 1;
        }
        if (atomicAdd(&left, 1u) == gridDim.x - 1) ticket = left = 0;
    }
    __syncthreads();
    if (i < n) y[i] = before + s[t];
}
