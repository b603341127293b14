// 01 atomic: every thread adds its element to the one total.
//
// Moves: nothing yet. All n additions meet at one address and are done one after the other.
// Mapping: thread t of block b -> element b * 256 + t.
//
// entry: sum_atomic
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void sum_atomic(const float* x, float* total, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(total, x[i]);
}
