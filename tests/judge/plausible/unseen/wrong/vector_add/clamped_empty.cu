// grid: 120
// block: 256
// fault: bounds
// kinds: out_of_bounds
// Threads beyond the end are clamped to the last element, which for n = 0 is element -1: c[-1] is written.

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    const int last = n - 1;
    int i = min((int)(blockIdx.x * blockDim.x + threadIdx.x), last);
    do {
        c[i] = a[i] + b[i];
        i += gridDim.x * blockDim.x;
    } while (i <= last);
}
