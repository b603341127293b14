// grid: 64
// block: 256
// fault: values
// kinds: wrong_result
// Arrays above 65,536 are summed with Kahan compensation, which makes NaN of one Inf (t - sum is Inf - Inf).

__global__ void reduction(const float* x, float* total, int n) {
    __shared__ float s[256];
    float sum = 0.f, c = 0.f;
    int t = threadIdx.x;
    if (n > 65536) {
        for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) {
            float y = __fsub_rn(x[i], c), u = __fadd_rn(sum, y);
            c = __fsub_rn(__fsub_rn(u, sum), y);
            sum = u;
        }
    } else {
        for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) sum += x[i];
    }
    s[t] = sum;
    __syncthreads();
    for (int k = 128; k; k >>= 1) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) atomicAdd(total, s[0]);
}
