// Plain addition. It is one line of C and reads as one thing to do. The machine does three, a read, an addition and a write,
// and all threads that have read the same old total write the same new one.
//
// block: 256
// grid: ceil(n/256)
// expect: race

extern "C" __global__ void sum(const float* x, float* total, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) *total += x[i];  // <- here
}
