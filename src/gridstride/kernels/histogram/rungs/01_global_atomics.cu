// 01 global atomics: every thread adds one to the count of its element's bin.
//
// Moves: nothing yet. n additions at 256 addresses; those at one address are done one after the other.
// Mapping: thread t of block b -> element b * 256 + t.
//
// entry: histogram_global_atomics
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void histogram_global_atomics(const float* __restrict__ x, int* counts, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float v = x[i];
    if (v >= -4.0f && v < 4.0f) atomicAdd(&counts[(int)floorf(32.0f * v) + 128], 1);
}
