// grid: 1
// block: 256
// fault: values
// kinds: wrong_result
// fmaxf gives the number of a number and a NaN, so that a NaN is never the largest.
__global__ void argmax(const float* x, long long* best, int n)
{
    __shared__ float largest[256];
    __shared__ int first;
    int t = threadIdx.x;
    float v = -INFINITY;
    for (int i = t; i < n; i += 256) v = fmaxf(v, x[i]);
    largest[t] = v;
    if (t == 0) first = n - 1;
    __syncthreads();
    for (int d = 128; d; d /= 2) {
        if (t < d) largest[t] = fmaxf(largest[t], largest[t + d]);
        __syncthreads();
    }
    for (int i = t; i < n; i += 256)
        if (x[i] == largest[0]) atomicMin(&first, i);
    __syncthreads();
    if (t == 0) *best = first;
}
