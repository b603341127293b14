// grid: 1
// block: 128
// fault: overflow
// kinds: wrong_result
// A byte for each bin and each thread, without atomics: right while no thread sees one bin more than 255 times.
__global__ void histogram(const float* x, int* counts, int n)
{
    __shared__ unsigned char bins[256][128];
    int t = threadIdx.x;
    for (int b = 0; b < 256; ++b) bins[b][t] = 0;
    for (int i = t; i < n; i += 128) {
        float v = x[i];
        if (v >= -4.0f && v < 4.0f) bins[(int)floorf(v * 32.0f) + 128][t]++;
    }
    __syncthreads();
    for (int b = t; b < 256; b += 128) {
        int sum = 0;
        for (int k = 0; k < 128; ++k) sum += bins[b][(k + t) % 128];
        counts[b] += sum;
    }
}
