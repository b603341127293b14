// grid: ceil(n/1024)
// block: 256
// fault: small size
// kinds: out_of_bounds race wrong_result
// The last group of four is moved back so that it ends with the array: below four elements that is before its beginning.

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    if (i > n - 4) i = n - 4;
    float sums[4];
    for (int j = 0; j < 4; ++j) sums[j] = a[i + j] + b[i + j];
    for (int j = 0; j < 4; ++j) c[i + j] = sums[j];
}
