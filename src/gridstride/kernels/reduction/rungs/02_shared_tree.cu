// 02 shared tree: a block adds up its elements in shared memory, pairwise, and then adds once to the total.
//
// Moves: atomics, from n to n / 256. Inside the block 8 rounds are left, each with half the active threads of the
//   round before and a barrier after it.
// Mapping: thread t of block b -> element b * 256 + t; in each round thread t < s adds element t + s to element t.
//   The active threads are the first ones, so whole warps drop out rather than every other lane.
//
// entry: sum_shared_tree
// block: 256
// grid: ceil(n/256)

constexpr int THREADS = 256;

extern "C" __global__ void __launch_bounds__(THREADS) sum_shared_tree(const float* x, float* total, int n)
{
    __shared__ float partial[THREADS];

    const int t = threadIdx.x;
    const int i = blockIdx.x * THREADS + t;
    partial[t] = i < n ? x[i] : 0.0f;
    __syncthreads();

    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (t < s) partial[t] += partial[t + s];
        __syncthreads();  // outside the `if`: every thread must come here
    }
    if (t == 0) atomicAdd(total, partial[0]);
}
