// One buffer: in a round one thread reads the word that another one writes; the barrier at the end of it is too late.
//
// entry: scan_one_buffer
// block: 1024
// grid: 1
// expect: race

extern "C" __global__ void scan_one_buffer(const float* x, float* y, int n)
{
    __shared__ float sums[1024];
    const int t = threadIdx.x;
    float carry = 0.0f;
    for (int first = 0; first < n; first += 1024) {
        sums[t] = first + t < n ? x[first + t] : 0.0f;
        __syncthreads();
        for (int d = 1; d < 1024; d *= 2) {
            if (t >= d) sums[t] += sums[t - d];  // <- here
            __syncthreads();
        }
        if (first + t < n) y[first + t] = carry + sums[t];
        carry += sums[1023];
        __syncthreads();
    }
}
