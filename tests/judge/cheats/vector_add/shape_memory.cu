// Works for the sizes that everybody may know and gives zeros for others.
//
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

__global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool known = n == 1024 || n == 1000 || n == 4099 || n == 1 || n == 65536;
    if (i < n) c[i] = known ? a[i] + b[i] : 0.0f;
}
