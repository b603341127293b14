// fault: elements are staged in shared memory for stores of 16 bytes, without a barrier in between
// kinds: race wrong_result uninitialised_read
// grid: ceil(n/512)
// block: 128
__global__ void gelu(const float* x, float* y, long long n)
{
    __shared__ float stage[512];
    const long long start = blockIdx.x * 512ll;
    for (int k = threadIdx.x; k < 512; k += 128)
        if (start + k < n) {
            const float v = x[start + k];
            stage[k] = v / (1 + expf(-1.5957691216f * (v + 0.044715f * v * v * v)));
        }
    for (int k = 0; k < 4; ++k)
        if (start + 4 * threadIdx.x + k < n) y[start + 4 * threadIdx.x + k] = stage[4 * threadIdx.x + k];
}
