// grid: 1
// block: 256
// fault: values
// kinds: wrong_result
// The search begins with 0 at index 0: among numbers below zero nothing is larger.
__global__ void argmax(const float* x, long long* best, int n)
{
    __shared__ float value[256];
    __shared__ int place[256];
    int t = threadIdx.x;
    float v = 0;
    int p = 0;
    for (int i = t; i < n; i += 256)
        if (x[i] > v || x[i] != x[i] && v == v) v = x[i], p = i;
    value[t] = v;
    place[t] = p;
    __syncthreads();
    if (t == 0) {
        for (int k = 1; k < 256; k++) {
            bool more = value[k] > v || value[k] != value[k] && v == v;
            bool same = value[k] == v || value[k] != value[k] && v != v;
            if (more || same && place[k] < p) v = value[k], p = place[k];
        }
        *best = p;
    }
}
