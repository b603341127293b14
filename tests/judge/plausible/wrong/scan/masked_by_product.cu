// grid: 1
// block: 1024
// fault: NaN and infinity
// kinds: wrong_result
// Branch-free Hillis-Steele: the neighbour is multiplied by 0 where it must not count. 0 times infinity is NaN.
__global__ void __launch_bounds__(1024) scan(const float* x, float* y, int n)
{
    __shared__ float warps[32];
    int t = threadIdx.x, lane = t % 32;
    float carry = 0;
    for (long long first = 0; first < n; first += 1024) {
        float v = first + t < n ? x[first + t] : 0.f;
        for (int d = 1; d < 32; d *= 2) v += (float)(lane >= d) * __shfl_up_sync(~0u, v, d);
        if (lane == 31) warps[t / 32] = v;
        __syncthreads();
        float w = warps[lane];
        for (int d = 1; d < 32; d *= 2) {
            float u = __shfl_up_sync(~0u, w, d);
            if (lane >= d) w += u;
        }
        float before = __shfl_sync(~0u, w, t < 32 ? 0 : t / 32 - 1);
        if (first + t < n) y[first + t] = carry + (t < 32 ? v : before + v);
        carry += __shfl_sync(~0u, w, 31);
        __syncthreads();
    }
}
