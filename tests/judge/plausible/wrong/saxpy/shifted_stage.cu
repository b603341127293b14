// grid: ceil(n/128)
// block: 128
// fault: missing barrier
// kinds: race uninitialised_read wrong_result unrepeatable
// Threads write back what another warp has computed, rotated by 32 for the banks, with no barrier in between.
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    __shared__ float r[128];
    const int t = threadIdx.x, base = blockIdx.x * 128;
    if (base + t < n) r[t] = a * x[base + t] + y[base + t];
    __syncwarp();
    const int u = (t + 32) % 128;
    if (base + u < n) y[base + u] = r[u];
}
