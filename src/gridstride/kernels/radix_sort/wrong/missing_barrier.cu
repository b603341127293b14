// Missing barrier: a warp counts before another has set its part of the counters to 0.
//
// entry: radix_sort_missing_barrier
// block: 256
// grid: 1
// expect: race

extern "C" __global__ void radix_sort_missing_barrier(
    const unsigned int* keys, unsigned int* ordered, unsigned int* scratch, int n)
{
    __shared__ unsigned int next[256];  // where the next key of a digit goes
    const int t = threadIdx.x;
    for (int pass = 0; pass < 4; ++pass) {
        const unsigned int* from = pass == 0 ? keys : pass % 2 ? scratch : ordered;
        unsigned int* to = pass % 2 ? ordered : scratch;
        next[t] = 0;  // <- here
        for (int i = t; i < n; i += 256) atomicAdd(&next[from[i] >> 8 * pass & 255], 1u);  // <- here
        __syncthreads();
        unsigned int sum = 0;
        for (int d = 0; t == 0 && d < 256; ++d) {
            const unsigned int count = next[d];
            next[d] = sum;
            sum += count;
        }
        __syncthreads();
        for (int first = 0; first < n; first += 32) {
            const int i = first + t;
            if (t < 32 && i < n) {
                const unsigned int digit = from[i] >> 8 * pass & 255, alike = __match_any_sync(__activemask(), digit);
                to[next[digit] + __popc(alike & ((1u << t) - 1))] = from[i];
                __syncwarp(__activemask());
                if ((alike & ((1u << t) - 1)) == 0) next[digit] += __popc(alike);
            }
            __syncthreads();
        }
    }
}
