// grid: 2*SMS
// block: 256
// fault: fence taken as a barrier of the warp
// kinds: race
// Another lane leads a bin in the next round and may add before the one of this round has.

__global__ void histogram(const float* x, int* counts, int n)
{
    __shared__ int h[8][256]; for (int k = threadIdx.x; k < 2048; k += 256) h[0][k] = 0; __syncthreads(); int* H = h[threadIdx.x / 32];
    for (int o = blockIdx.x * 256; o < n; o += gridDim.x * 256) { int i = o + threadIdx.x; int k = -1; if (i < n) { float b = floorf(x[i] * 32.f) + 128.f; if (b >= 0 && b < 256) k = (int)b; }
        unsigned m = __match_any_sync(~0u, k); if (k >= 0 && __ffs(m) - 1 == (threadIdx.x & 31)) H[k] += __popc(m); __threadfence_block(); }
    __syncthreads(); int c = 0; for (int w = 0; w < 8; w++) c += h[w][threadIdx.x]; if (c) atomicAdd(&counts[threadIdx.x], c);
}
