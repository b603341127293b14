// grid: rows
// block: 128
// fault: barrier for fewer arrivals than come
// kinds: race
// cuda::barrier for 96 of the 128 threads that arrive; the first warp alone waits and adds up what all have stored.

#include <cuda/barrier>
__global__ void layer_norm(const float* x, const float* w, const float* b, float* y, float* mean, float* rstd, int rows, int columns, float eps)
{
    __shared__ float s[128], m_, r_; __shared__ cuda::barrier<cuda::thread_scope_block> b1, b2; int t = threadIdx.x; const float* r = x + (size_t)blockIdx.x * columns; float a = 0;
    if (t == 0) { init(&b1, 96); init(&b2, 96); } __syncthreads();
    for (int i = t; i < columns; i += 128) a += r[i];
    s[t] = a; auto k1 = b1.arrive();
    if (t < 32) { b1.wait(std::move(k1)); a = s[t] + s[t + 32] + s[t + 64] + s[t + 96]; for (int k = 16; k; k /= 2) a += __shfl_xor_sync(~0u, a, k); if (t == 0) m_ = a / columns; }
    __syncthreads(); float m = m_; a = 0;
    for (int i = t; i < columns; i += 128) a += (r[i] - m) * (r[i] - m);
    s[t] = a; auto k2 = b2.arrive();
    if (t < 32) { b2.wait(std::move(k2)); a = s[t] + s[t + 32] + s[t + 64] + s[t + 96]; for (int k = 16; k; k /= 2) a += __shfl_xor_sync(~0u, a, k); if (t == 0) r_ = 1 / sqrtf(a / columns + eps); }
    __syncthreads();
    if (t == 0) { mean[blockIdx.x] = m; rstd[blockIdx.x] = r_; }
    for (int i = t; i < columns; i += 128) y[(size_t)blockIdx.x * columns + i] = (r[i] - m) * r_ * w[i] + b[i];
}
