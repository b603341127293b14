// grid: ceil(n/512)
// block: 256
// fault: tail of 2
// kinds: out_of_bounds
// Each thread takes x[2i] and x[2i + 1] where 2i < n: an odd n reads one float behind the array.
__global__ void sum_pairs(const float* x, float* total, int n)
{
    __shared__ float s[256];
    int t = threadIdx.x, i = 2 * (blockIdx.x * 256 + t);
    s[t] = i < n ? x[i] + x[i + 1] : 0.0f;
    for (int k = 128; k > 0; k /= 2) {
        __syncthreads();
        if (t < k) s[t] += s[t + k];
    }
    if (t == 0) atomicAdd(total, s[0]);
}
