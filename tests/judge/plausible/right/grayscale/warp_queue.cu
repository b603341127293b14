// grid: 4
// block: 64
// Warps take 128 pixels at a time from a queue in global memory, which the last warp to leave takes back to 0.
__device__ unsigned long long head;
__device__ unsigned gone;
__global__ void gray_queue(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    const unsigned long long n = (unsigned long long)H * W;
    const int lane = threadIdx.x % 32;
    while (true) {
        unsigned long long first = 0;
        if (lane == 0) first = atomicAdd(&head, 128ull);
        first = __shfl_sync(0xffffffffu, first, 0);
        if (first >= n) break;
        for (unsigned long long i = first + lane; i < first + 128 && i < n; i += 32)
            gray[i] = (rgb[3 * i] * 77 + rgb[3 * i + 1] * 150 + rgb[3 * i + 2] * 29 + 128) >> 8;
    }
    if (lane == 0 && atomicAdd(&gone, 1u) == gridDim.x * 2 - 1) {
        gone = 0;
        head = 0;
    }
}
