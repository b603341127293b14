// Shuffle in the guard. "Threads beyond the end have nothing to add", so they are kept out; but the mask says that all 32
// lanes come, and the lane that is read may be one that stayed away. It must come, and bring a zero.
//
// block: 256
// grid: ceil(n/256)
// expect: member_mask

extern "C" __global__ void sum(const float* x, float* total, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float part = x[i];
        for (int offset = 16; offset > 0; offset /= 2) {
            part += __shfl_down_sync(0xffffffffu, part, offset);  // <- here
        }
        if (threadIdx.x % 32 == 0) atomicAdd(total, part);
    }
}
