// The grid is capped at 65,535 blocks, as old cards wanted, and nobody loops.
// Wrong for n > 16,776,960: the elements behind are never written (n = 16,776,961).
// grid: min(ceil(n/256), 65535)
// block: 256
// fault: grid capped
// kinds: wrong_result
__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
