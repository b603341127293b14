// right: lanes with equal bins find each other, one adds for all
// grid: 4*SMS
// block: 256
__global__ void histogram(const float* x, int* counts, int n)
{
    __shared__ int own[257];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int base = blockIdx.x * 256; base < n; base += gridDim.x * 256) {
        int i = base + threadIdx.x;
        float v = i < n ? x[i] * 32.0f : INFINITY;
        int b = v >= -128.0f && v < 128.0f ? __float2int_rd(v) + 128 : 256;
        unsigned peers = __match_any_sync(0xffffffffu, b);
        if (b < 256 && threadIdx.x % 32 == __ffs(peers) - 1) atomicAdd(&own[b], __popc(peers));
    }
    __syncthreads();
    if (own[threadIdx.x]) atomicAdd(counts + threadIdx.x, own[threadIdx.x]);
}
