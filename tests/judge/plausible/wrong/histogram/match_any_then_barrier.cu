// grid: 2*SMS
// block: 256
// fault: member mask
// kinds: member_mask
// __match_any_sync with a full mask in a loop whose last round not all lanes take; those that left wait at the
// barrier behind the loop, have not exited.

__global__ void histogram(const float* x, int* counts, int n) {
    __shared__ int h[256];
    h[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        float v = x[i];
        int b = v >= -4.f && v < 4.f ? (int)floorf(32.f * v) + 128 : -1;
        unsigned m = __match_any_sync(0xffffffffu, b);
        if (b >= 0 && __ffs(m) - 1 == (threadIdx.x & 31)) atomicAdd(&h[b], __popc(m));
    }
    __syncthreads();
    if (h[threadIdx.x]) atomicAdd(&counts[threadIdx.x], h[threadIdx.x]);
}
