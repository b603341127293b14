// Three bytes: the uppermost is never looked at, which small numbers do not show.
//
// entry: radix_sort_three_bytes
// block: 32
// grid: 1
// expect: wrong_result

extern "C" __global__ void radix_sort_three_bytes(
    const unsigned int* keys, unsigned int* ordered, unsigned int* scratch, int n)
{
    __shared__ unsigned int next[256];  // where the next key of a digit goes
    const int lane = threadIdx.x;
    for (int pass = 0; pass < 3; ++pass) {
        const unsigned int* from = pass == 0 ? keys : pass % 2 ? ordered : scratch;
        unsigned int* to = pass % 2 ? scratch : ordered;
        for (int d = lane; d < 256; d += 32) next[d] = 0;
        __syncwarp();
        for (int i = lane; i < n; i += 32) atomicAdd(&next[from[i] >> 8 * pass & 255], 1u);
        __syncwarp();
        unsigned int sum = 0;
        for (int d = 0; lane == 0 && d < 256; ++d) {
            const unsigned int count = next[d];
            next[d] = sum;
            sum += count;
        }
        __syncwarp();
        for (int first = 0; first < n; first += 32) {
            const bool there = first + lane < n;
            const unsigned int key = there ? from[first + lane] : 0xffffffffu;
            const unsigned int digit = key >> 8 * pass & 255;
            const unsigned int alike = __match_any_sync(~0u, there ? digit : 256);
            const unsigned int earlier = alike & ((1u << lane) - 1);
            if (there) to[next[digit] + __popc(earlier)] = key;
            __syncwarp();
            if (there && earlier == 0) next[digit] += __popc(alike);
            __syncwarp();
        }
    }
}
