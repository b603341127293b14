// Bytes that overflow: four bins share a word, a byte each. The 256th element of a bin carries into its neighbour.
//
// entry: histogram_bytes_that_overflow
// block: 256
// grid: ceil(n/4096)
// expect: wrong_result

extern "C" __global__ void histogram_bytes_that_overflow(const float* x, int* counts, int n)
{
    __shared__ unsigned int words[64];
    const int t = threadIdx.x;
    if (t < 64) words[t] = 0;
    __syncthreads();
    for (int k = 0; k < 16; ++k) {
        const int i = blockIdx.x * 4096 + k * 256 + t;
        const float v = i < n ? x[i] : -5.0f;
        const int bin = v >= -4.0f && v < 4.0f ? (int)floorf(32.0f * v) + 128 : -1;
        if (bin >= 0) atomicAdd(&words[bin / 4], 1u << 8 * (bin % 4));
    }
    __syncthreads();
    atomicAdd(&counts[t], (int)(words[t / 4] >> 8 * (t % 4) & 255));
}
