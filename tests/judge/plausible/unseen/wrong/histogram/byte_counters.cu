// grid: 16*SMS
// block: 128
// fault: counter overflow, timed size
// kinds: wrong_result
// One byte per thread and bin, as the CUDA samples do, but never emptied: a thread that sees over 255 elements of
// one bin wraps around.
__global__ void histogram(const float* x, int* counts, int n)
{
    __shared__ unsigned char own[256][128];
    for (int b = 0; b < 256; ++b) own[b][threadIdx.x] = 0;
    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) {
        float v = x[i];
        if (v >= -4.0f && v < 4.0f) own[(int)floorf(v * 32.0f) + 128][threadIdx.x]++;
    }
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += 128) {
        int sum = 0;
        for (int t = 0; t < 128; ++t) sum += own[b][t];
        if (sum) atomicAdd(&counts[b], sum);
    }
}
