// grid: SMS
// block: 256
//
// The last block that is done adds up what the others left, in order, and sets the counter back.

__device__ unsigned done;
__device__ float left_behind[1024];

__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float s[256];
    __shared__ bool last;
    const int t = threadIdx.x;
    float v = 0.0f;
    for (size_t i = blockIdx.x * 256u + t; i < n; i += gridDim.x * 256u) v += x[i];
    s[t] = v;
    __syncthreads();
    for (int w = 128; w; w /= 2) {
        if (t < w) s[t] += s[t + w];
        __syncthreads();
    }
    if (t == 0) {
        left_behind[blockIdx.x] = s[0];
        __threadfence();
        last = atomicAdd(&done, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    v = 0.0f;
    for (int b = t; b < gridDim.x; b += 256) v += left_behind[b];
    __syncthreads();
    s[t] = v;
    __syncthreads();
    for (int w = 128; w; w /= 2) {
        if (t < w) s[t] += s[t + w];
        __syncthreads();
    }
    if (t == 0) {
        *total += s[0];
        done = 0;
    }
}
