// grid: min(ceil(n/1024), 4*SMS)
// block: 32
// Data, fence, count; lane 31 polls by volatile loads and fences before it reads.
__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float part[32];
    __shared__ int came;
    const int lane = threadIdx.x;
    if (lane == 0) came = 0;
    __syncwarp();
    float s = 0;
    for (long long i = blockIdx.x * 32ll + lane; i < n; i += gridDim.x * 32ll) s += x[i];
    part[lane] = s;
    __threadfence_block();
    atomicAdd(&came, 1);
    if (lane == 31) {
        while (*(volatile int*)&came != 32) { }
        __threadfence_block();
        float sum = 0;
        for (int k = 0; k < 32; k++) sum += part[k];
        atomicAdd(total, sum);
    }
}
