// grid: SMS
// block: 128
// fault: device variable
// kinds: wrong_result unrepeatable
// A work queue whose ticket nobody takes back to 0: the second launch finds the queue empty and adds nothing.
__device__ int next_tile;
extern "C" __global__ void persistent_add(const float* a, const float* b, float* c, int n)
{
    __shared__ int tile;
    for (;;) {
        if (threadIdx.x == 0) tile = atomicAdd(&next_tile, 1);
        __syncthreads();
        int i = tile * 128 + threadIdx.x;
        if (tile * 128 >= n) break;
        if (i < n) c[i] = a[i] + b[i];
        __syncthreads();
    }
}
