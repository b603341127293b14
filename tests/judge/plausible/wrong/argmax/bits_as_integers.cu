// grid: 1
// block: 32
// fault: values
// kinds: wrong_result
// Floats are compared as the integers of their bits, which turns the order of numbers below zero round.
__global__ void argmax(const float* x, long long* best, int n)
{
    int lane = threadIdx.x, v = INT_MIN, p = INT_MAX;
    for (int i = lane; i < n; i += 32) {
        int bits = x[i] != x[i] ? INT_MAX : __float_as_int(x[i] + 0.0f);
        if (bits > v || p == INT_MAX) v = bits, p = i;
    }
    int most = __reduce_max_sync(~0u, v);
    int first = __reduce_min_sync(~0u, v == most ? p : INT_MAX);
    if (lane == 0) *best = first;
}
