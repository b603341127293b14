// Lost exchange: the columns are left with their middle and greatest pixel in order, but not the least.
//
// entry: median_lost_exchange
// block: 32 8
// grid: ceil(W/32) ceil(H/8)
// expect: wrong_result

// Puts a and b in order.
__device__ __forceinline__ void order(int& a, int& b)
{
    const int less = min(a, b);
    b = max(a, b);
    a = less;
}

__device__ __forceinline__ int middle(int a, int b, int c) { return max(min(a, b), min(max(a, b), c)); }

extern "C" __global__ void median_lost_exchange(const unsigned char* image, unsigned char* smooth, int H, int W)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;

    int p[9];
#pragma unroll
    for (int k = 0; k < 9; ++k) {
        const int y = min(max(row + k / 3 - 1, 0), H - 1), x = min(max(column + k % 3 - 1, 0), W - 1);
        p[k] = image[(size_t)y * W + x];
    }
#pragma unroll
    for (int k = 0; k < 3; ++k) {  // each column from above to below
        order(p[k], p[k + 3]);
        order(p[k + 3], p[k + 6]);
    }
    const int low = max(max(p[0], p[1]), p[2]), high = min(min(p[6], p[7]), p[8]);
    smooth[(size_t)row * W + column] = middle(low, middle(p[3], p[4], p[5]), high);
}
