// grid: min(64,ceil(n/256))
// block: 256
// fault: missing fence
// kinds: race unrepeatable wrong_result
// The last block adds up the others' sums; between a block's store and its count there is no __threadfence().
__device__ float block_sums[64];
__device__ unsigned counter;
__global__ void reduce(const float* x, float* total, int n)
{
    __shared__ float s[256];
    __shared__ unsigned place;
    float v = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 256 * gridDim.x) v += x[i];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int k = 128; k; k >>= 1) {
        if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        block_sums[blockIdx.x] = s[0];
        place = atomicInc(&counter, gridDim.x - 1);
    }
    __syncthreads();
    if (place == gridDim.x - 1 && threadIdx.x == 0)
        for (int b = 0; b < gridDim.x; ++b) *total += block_sums[b];
}
