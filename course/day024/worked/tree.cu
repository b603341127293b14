// Eight running sums by Blelloch's tree: the words at first, after each level upwards and each level downwards.
//
// entry: tree
// block: 8
// grid: 1

extern "C" __global__ void tree(const float* x, float* y)
{
    __shared__ float s[8];

    const int t = threadIdx.x;
    int row = 0;
    s[t] = x[t];
    y[t] = s[t];

    for (int d = 1; d < 8; d *= 2) {
        __syncthreads();
        if ((t + 1) % (2 * d) == 0) s[t] += s[t - d];
        __syncthreads();
        y[8 * ++row + t] = s[t];
    }
    if (t == 7) s[7] = 0.0f;
    for (int d = 4; d > 0; d /= 2) {
        __syncthreads();
        if ((t + 1) % (2 * d) == 0) {
            const float left = s[t - d];
            s[t - d] = s[t];
            s[t] += left;
        }
        __syncthreads();
        y[8 * ++row + t] = s[t];
    }
}
