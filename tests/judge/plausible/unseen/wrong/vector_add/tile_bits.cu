// grid: ceil(n/1024)
// block: 256
// fault: product of 32 bits
// kinds: wrong_result
// (blockIdx.x * 1024 * 128) >> 7 wraps in 32 bits from tile 32768 on, of 65536 at the timed 2^26.

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    unsigned o = (blockIdx.x * 1024u * 128u) >> 7;
    for (unsigned i = o + threadIdx.x; i < o + 1024 && i < n; i += 256) c[i] = a[i] + b[i];
}
