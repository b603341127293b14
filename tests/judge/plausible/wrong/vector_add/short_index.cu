// grid: ceil(n/256)
// block: 256
// fault: index type
// kinds: out_of_bounds wrong_result
// A 16-bit signed index: from n = 32,769 on it turns negative.
__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    short i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
