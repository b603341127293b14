// grid: 2*SMS
// block: 256
// fault: fence taken as a barrier of the warp
// kinds: race
// Each lane's sums are behind its own fence, and nothing makes the other lanes wait for them.

__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float s[256]; float a = 0; int t = threadIdx.x, l = t & 31;
    for (size_t i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) a += x[i];
    s[t] = a; __threadfence_block();
    for (int k = 16; k; k /= 2) { if (l < k) s[t] += s[t + k]; __threadfence_block(); }
    if (l == 0) atomicAdd(total, s[t]);
}
