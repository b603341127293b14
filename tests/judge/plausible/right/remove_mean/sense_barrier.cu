// grid: SMS
// block: 128
// cooperative: yes
// A barrier of its own for the grid, under a cooperative launch: its state is left as it was found.

__device__ float part[1024]; __device__ unsigned count; __device__ volatile unsigned sense;
__global__ void remove_mean(const float* x, float* y, int n) {
    __shared__ float s[128]; int t = threadIdx.x; float a = 0;
    for (int i = blockIdx.x * 128 + t; i < n; i += gridDim.x * 128) a += x[i];
    s[t] = a; __syncthreads();
    for (int k = 64; k; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
    if (t == 0) {
        unsigned old = sense;
        part[blockIdx.x] = s[0];
        __threadfence();
        if (atomicAdd(&count, 1) == gridDim.x - 1) { count = 0; __threadfence(); sense = old ^ 1; }
        else while (sense == old) __nanosleep(20);
        __threadfence();
    }
    __syncthreads();
    float m = 0;
    for (int b = 0; b < gridDim.x; b++) m += __ldcg(part + b);
    m /= n;
    for (int i = blockIdx.x * 128 + t; i < n; i += gridDim.x * 128) y[i] = x[i] - m;
}
