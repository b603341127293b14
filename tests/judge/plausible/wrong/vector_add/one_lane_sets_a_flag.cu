// grid: max(1,ceil(n/256))
// block: 64
// fault: missing syncwarp
// kinds: race
// One warp fills a tile and another empties it; all lanes fence, and lane 0 sets the flag for them without a __syncwarp().
__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    __shared__ float tile[32];
    __shared__ volatile int full, empty;
    const int lane = threadIdx.x % 32;
    const long long first = blockIdx.x * 256LL;
    if (threadIdx.x < 32) full = empty = 0;
    __syncthreads();
    for (int k = 0; k < 8; ++k) {
        const long long i = first + 32 * k;
        if (threadIdx.x >= 32) {  // brings the sums of 32 elements
            while (empty != k) {}
            __threadfence_block();
            tile[lane] = i + lane < n ? a[i + lane] + b[i + lane] : 0.0f;
            __threadfence_block();
            if (lane == 0) full = k + 1;
        } else {
            while (full != k + 1) {}
            __threadfence_block();
            if (i + 31 - lane < n) c[i + 31 - lane] = tile[31 - lane];
            __threadfence_block();
            __syncwarp();
            if (lane == 0) empty = k + 1;
        }
    }
}
