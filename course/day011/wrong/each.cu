// Each to the total. One line, and no addition is lost: that is what an atomic operation promises. But all 65,536 additions
// are at one address, and are carried out there one after the other.
//
// block: 256
// grid: ceil(n/256)
// expect: too_many at_the_total

extern "C" __global__ void sum(const float* x, float* total, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(total, x[i]);  // <- here
}
