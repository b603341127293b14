// Atomic store. The write is atomic, so that nothing is torn, and that was thought to be the matter. What must not be parted is
// the write and the read before it. Between the two every other thread can read the same old total.
//
// block: 256
// grid: ceil(n/256)
// expect: race

extern "C" __global__ void sum(const float* x, float* total, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicExch(total, *total + x[i]);  // <- here
}
