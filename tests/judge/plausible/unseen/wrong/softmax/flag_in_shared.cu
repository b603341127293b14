// grid: min(rows,4*SMS)
// block: 256
// fault: a volatile flag in shared memory publishes plain data with no fence ahead of it
// kinds: race
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    __shared__ volatile int flag;
    __shared__ float shared_max, shared_sum;
    const int t = threadIdx.x;
    if (t == 0) flag = 0;
    __syncthreads();
    for (int r = blockIdx.x, k = 1; r < rows; r += gridDim.x, k++) {
        const float* p = x + (size_t)r * columns;
        if (t < 32) {
            float m = -INFINITY, s = 0;
            for (int c = t; c < columns; c += 32) m = fmaxf(m, p[c]);
            for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
            for (int c = t; c < columns; c += 32) s += expf(p[c] - m);
            for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
            if (t == 0) {
                shared_max = m;
                shared_sum = s;
                flag = k;
            }
            __syncwarp();
        } else {
            while (flag < k);
        }
        const float m = shared_max, s = shared_sum;
        for (int c = t; c < columns; c += 256) y[(size_t)r * columns + c] = expf(p[c] - m) / s;
        __syncthreads();
    }
}
