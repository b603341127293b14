// grid: ceil(n/256)
// block: 256
// fault: index type
// kinds: wrong_result uninitialised_read race
// The index is an unsigned short: above 65,536 elements it begins again at 0, and the rest is never written.

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    const unsigned short i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
