// grid: ceil(n/128)
// block: 128
// fault: device state between launches
// kinds: wrong_result out_of_bounds
// The first launch leaves its n in a device variable, and all others use that: wrong as soon as another size comes.

__device__ int count;

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    const int before = atomicCAS(&count, 0, n);
    const int limit = before == 0 ? n : before;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < limit) y[i] = fmaf(a, x[i], y[i]);
}
