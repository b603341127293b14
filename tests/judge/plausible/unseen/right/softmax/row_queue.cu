// right: rows from a queue; every block asks once in vain, and the last that does sets it back
// grid: 2*SMS
// block: 128
__device__ int next_row;
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    __shared__ float s[128];
    __shared__ int row;
    int t = threadIdx.x;
    while (true) {
        __syncthreads();
        if (t == 0) {
            row = atomicAdd(&next_row, 1);
            if (row == rows + (int)gridDim.x - 1) atomicExch(&next_row, 0);
        }
        __syncthreads();
        if (row >= rows) return;
        const float* in = x + (size_t)row * columns;
        float m = -INFINITY, sum = 0;
        for (int c = t; c < columns; c += 128) m = fmaxf(m, in[c]);
        s[t] = m;
        __syncthreads();
        for (int d = 64; d; d >>= 1) {
            if (t < d) s[t] = fmaxf(s[t], s[t + d]);
            __syncthreads();
        }
        m = s[0];
        __syncthreads();
        for (int c = t; c < columns; c += 128) sum += expf(in[c] - m);
        s[t] = sum;
        __syncthreads();
        for (int d = 64; d; d >>= 1) {
            if (t < d) s[t] += s[t + d];
            __syncthreads();
        }
        for (int c = t; c < columns; c += 128) y[(size_t)row * columns + c] = expf(in[c] - m) / s[0];
    }
}
