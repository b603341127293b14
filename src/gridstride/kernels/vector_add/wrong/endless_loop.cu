// Endless loop: the step of the grid-stride loop is 0 for the block that it should help most.
//
// entry: add_endless_loop
// block: 256
// grid: 1
// expect: timeout

extern "C" __global__ void add_endless_loop(const float* a, const float* b, volatile float* c, int n)
{
    const int step = (gridDim.x - 1) * blockDim.x;
    for (int i = threadIdx.x; i < n; i += step) {  // <- here
        c[i] = a[i] + b[i];  // <- here
    }
}
