// Not stable: keys of one digit take their places as they come, and the order of the passes before is lost.
//
// entry: radix_sort_not_stable
// block: 256
// grid: 1
// expect: wrong_result

extern "C" __global__ void radix_sort_not_stable(
    const unsigned int* keys, unsigned int* ordered, unsigned int* scratch, int n)
{
    __shared__ unsigned int next[256];  // where the next key of a digit goes
    const int t = threadIdx.x;
    for (int pass = 0; pass < 4; ++pass) {
        const unsigned int* from = pass == 0 ? keys : pass % 2 ? scratch : ordered;
        unsigned int* to = pass % 2 ? ordered : scratch;
        next[t] = 0;
        __syncthreads();
        for (int i = t; i < n; i += 256) atomicAdd(&next[from[i] >> 8 * pass & 255], 1u);
        __syncthreads();
        unsigned int sum = 0;
        for (int d = 0; t == 0 && d < 256; ++d) {
            const unsigned int count = next[d];
            next[d] = sum;
            sum += count;
        }
        __syncthreads();
        for (int i = t; i < n; i += 256) to[atomicAdd(&next[from[i] >> 8 * pass & 255], 1u)] = from[i];
        __syncthreads();
    }
}
