// grid: ceil(n/256)
// block: 256
// fault: race within a warp
// kinds: race wrong_result
// The last warp adds s[t + w] to s[t] in one statement, a __syncwarp() only behind it: lane 16 writes s[16] while lane 0 reads it.

__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float s[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (t < 128) s[t] += s[t + 128];
    __syncthreads();
    if (t < 64) s[t] += s[t + 64];
    __syncthreads();
    if (t < 32) {
        volatile float* v = s;
        for (int w = 32; w > 0; w >>= 1) {
            v[t] = v[t] + v[t + w];
            __syncwarp();
        }
        if (t == 0) atomicAdd(total, s[0]);
    }
}
