// grid: 1
// block: 256
// fault: device variable
// kinds: wrong_result
// Keeps the last sum and gives it again where n, x[0], x[n/2] and x[n-1] are the same: other data between those
// samples gets the old sum.

__device__ float old_sum, k0, k1, k2;
__device__ int old_n;
__global__ void reduction(const float* x, float* total, int n) {
    __shared__ float s[256];
    int t = threadIdx.x;
    if (n <= 0) return;
    bool same = old_n == n && k0 == x[0] && k1 == x[n / 2] && k2 == x[n - 1];
    __syncthreads();
    if (same) {
        if (t == 0) *total += old_sum;
        return;
    }
    float sum = 0;
    for (int i = t; i < n; i += 256) sum += x[i];
    s[t] = sum;
    __syncthreads();
    for (int k = 128; k; k >>= 1) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) {
        *total += s[0];
        old_sum = s[0]; old_n = n; k0 = x[0]; k1 = x[n / 2]; k2 = x[n - 1];
    }
}
