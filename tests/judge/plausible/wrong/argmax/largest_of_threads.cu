// grid: 1
// block: 128
// fault: equal values
// kinds: wrong_result
// Threads take every 128th element and the first thread with the largest wins: of equal ones that is not the lowest index.
__global__ void argmax(const float* x, long long* best, int n)
{
    __shared__ float value[128];
    __shared__ int place[128];
    int t = threadIdx.x, p = t;
    float v = t < n ? x[t] : -INFINITY;
    for (int i = t + 128; i < n; i += 128)
        if (x[i] > v || isnan(x[i]) && !isnan(v)) v = x[i], p = i;
    value[t] = v;
    place[t] = p;
    __syncthreads();
    if (t == 0) {
        for (int k = 1; k < 128 && k < n; k++)
            if (value[k] > v || isnan(value[k]) && !isnan(v)) v = value[k], p = place[k];
        *best = p;
    }
}
