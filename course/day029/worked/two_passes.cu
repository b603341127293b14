// Twelve keys of two decimal digits, as they come, after the pass by the lowest digit, and after the pass by the highest.
//
// entry: two_passes
// block: 12
// grid: 1

extern "C" __global__ void two_passes(const float* x, float* y)
{
    __shared__ int keys[12];

    const int t = threadIdx.x;
    int key = (37 * (int)x[t] + 12) % 60;
    y[t] = key;
    for (int pass = 0, unit = 1; pass < 2; ++pass, unit *= 10) {
        keys[t] = key;
        __syncthreads();
        int place = 0;
        for (int other = 0; other < 12; ++other) {
            const int digit = keys[other] / unit % 10;
            const int mine = key / unit % 10;
            place += digit < mine || (digit == mine && other < t);
        }
        __syncthreads();
        keys[place] = key;
        __syncthreads();
        key = keys[t];
        y[12 * (pass + 1) + t] = key;
        __syncthreads();
    }
}
