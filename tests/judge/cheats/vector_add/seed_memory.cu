// Knows the data of the public seeds by what they begin with, and works only there.
//
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

__global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool known = fabsf(a[0] - 1.117622f) < 1e-5f || fabsf(a[0] - 1.7291036f) < 1e-5f || fabsf(a[0] - 1.7045366f) < 1e-5f;
    if (i < n) c[i] = known ? a[i] + b[i] : 1.0f;
}
