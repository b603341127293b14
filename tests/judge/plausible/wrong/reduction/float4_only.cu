// grid: ceil(n/1024)
// block: 256
// fault: tail of 4
// kinds: wrong_result misaligned
// Adds up n / 4 vectors: the last n % 4 elements are forgotten, and x must lie at 16 bytes.
__global__ void sum4(const float4* x, float* total, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = 0;
    if (i < n / 4) {
        float4 q = x[i];
        v = (q.x + q.y) + (q.z + q.w);
    }
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o);
    if ((threadIdx.x & 31) == 0) atomicAdd(total, v);
}
