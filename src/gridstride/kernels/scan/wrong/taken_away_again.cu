// Taken away again: what lies before a thread's elements is their running sum less their own sum. Infinity less
// infinity is NaN, and a large sum less a large one has lost the small digits.
//
// entry: scan_taken_away_again
// block: 32
// grid: 1
// expect: wrong_result

extern "C" __global__ void scan_taken_away_again(const float* x, float* y, int n)
{
    const int lane = threadIdx.x;
    float carry = 0.0f;
    for (int first = 0; first < n; first += 128) {
        const int i = first + 4 * lane;
        float own = 0.0f;
        for (int k = 0; k < 4 && i + k < n; ++k) own += x[i + k];
        float sum = own;
        for (int d = 1; d < 32; d *= 2) {
            const float other = __shfl_up_sync(0xffffffffu, sum, d);
            if (lane >= d) sum += other;
        }
        float running = carry + (sum - own);
        for (int k = 0; k < 4 && i + k < n; ++k) y[i + k] = running += x[i + k];
        carry += __shfl_sync(0xffffffffu, sum, 31);
    }
}
