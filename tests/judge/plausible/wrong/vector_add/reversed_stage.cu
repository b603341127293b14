// grid: ceil(n/256)
// block: 256
// fault: missing barrier
// kinds: race uninitialised_read wrong_result unrepeatable
// Thread t adds what thread 255 - t has loaded, and no __syncthreads() stands between: a race for every n above 32.
__global__ void add_reversed(const float* a, const float* b, float* c, int n)
{
    __shared__ float s[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] : 0.0f;
    int mirror = 255 - threadIdx.x;
    int j = blockIdx.x * 256 + mirror;
    if (j < n) c[j] = s[mirror] + b[j];
}
