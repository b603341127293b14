// grid: ceil(n/256)
// block: 256
// fault: device variable
// kinds: wrong_result race unrepeatable
// The first launch leaves a in a device variable and later ones take it from there: wrong with another a.
__device__ float alpha;
__device__ int state;  // 0 unknown, 1 being written, 2 known
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    __shared__ float factor;
    if (threadIdx.x == 0) {
        if (atomicCAS(&state, 0, 1) == 0) {
            atomicExch(&alpha, a);
            __threadfence();
            atomicExch(&state, 2);
        }
        while (atomicAdd(&state, 0) != 2) {}
        __threadfence();
        factor = atomicAdd(&alpha, 0.0f);
    }
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += factor * x[i];
}
