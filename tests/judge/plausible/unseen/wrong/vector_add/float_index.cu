// grid: ceil(n/256)
// block: 256
// fault: wrong formula
// kinds: wrong_result
// The element's number is worked out in float, which has 24 bits: right up to 2^24 elements, beyond (the timed size, n = 67108864) elements are left out and others done several times.

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    const int i = (int)(blockIdx.x * 256.0f + threadIdx.x);
    if (i < n) c[i] = a[i] + b[i];
}
