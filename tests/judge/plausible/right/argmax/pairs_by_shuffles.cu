// grid: 1
// block: 96
// Three warps; pairs of value and place go down through shuffles, then through shared memory.
struct Pair {
    float value;
    int place;
};

__device__ bool beats(Pair a, Pair b)
{
    bool nan_a = isnan(a.value), nan_b = isnan(b.value);
    if (nan_a != nan_b) return nan_a;
    if (!nan_a && a.value != b.value) return a.value > b.value;
    return a.place < b.place;
}

__global__ void argmax(const float* x, long long* best, int n)
{
    __shared__ Pair warps[3];
    int t = threadIdx.x;
    Pair mine = {-INFINITY, INT_MAX};
    for (int i = t; i < n; i += blockDim.x) {
        Pair other = {x[i], i};
        if (beats(other, mine)) mine = other;
    }
    for (int d = 16; d; d >>= 1) {
        Pair other = {__shfl_down_sync(~0u, mine.value, d), __shfl_down_sync(~0u, mine.place, d)};
        if (beats(other, mine)) mine = other;
    }
    if (t % 32 == 0) warps[t / 32] = mine;
    __syncthreads();
    if (t == 0) {
        for (int w = 1; w < 3; w++)
            if (beats(warps[w], mine)) mine = warps[w];
        *best = mine.place;
    }
}
