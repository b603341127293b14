// Each warp. The lesson's kernel as it stands: its words in shared memory are one for each warp. The total gets eight additions
// from every block, and the block's own sum is nowhere.
//
// block: 256
// grid: ceil(n/256)
// expect: too_many at_the_total

extern "C" __global__ void sum(const float* x, float* total, int n)
{
    __shared__ float of_warp[8];

    const int t = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + t;
    if (t < 8) of_warp[t] = 0.0f;
    __syncthreads();

    if (i < n) atomicAdd(&of_warp[t / 32], x[i]);
    __syncthreads();

    if (t % 32 == 0) atomicAdd(total, of_warp[t / 32]);  // <- here
}
