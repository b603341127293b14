// grid: 48
// block: 256
// fault: barrier before ticket missing
// kinds: race
// Every thread stores its bin's partial count and fences, but thread 0 draws the ticket without waiting for them.
__device__ int partial[48][256];
__device__ unsigned ticket;
__global__ void histogram(const float* x, int* counts, int n)
{
    __shared__ int own[256];
    __shared__ bool last;
    int t = threadIdx.x;
    own[t] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) {
        float v = x[i];
        if (v >= -4.0f && v < 4.0f) atomicAdd(&own[(int)floorf(v * 32.0f) + 128], 1);
    }
    __syncthreads();
    partial[blockIdx.x][t] = own[t];
    __threadfence();
    if (t == 0) last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (last) {
        __threadfence();
        int sum = 0;
        for (int b = 0; b < gridDim.x; ++b) sum += partial[b][t];
        counts[t] += sum;
    }
}
