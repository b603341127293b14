// Right end: 4 itself is taken in, and its bin is number 256 of 256 that are counted from 0.
//
// entry: histogram_right_end
// block: 256
// grid: ceil(n/256)
// expect: out_of_bounds

extern "C" __global__ void histogram_right_end(const float* x, int* counts, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float v = x[i];
    if (v >= -4.0f && v <= 4.0f) atomicAdd(&counts[(int)floorf(32.0f * v) + 128], 1);  // <- here
}
