// Unguarded columns: the pixels left of the first column and right of the last are read where there are none.
//
// entry: median_unguarded_columns
// block: 32 8
// grid: ceil(W/32) ceil(H/8)
// expect: out_of_bounds

// Puts a and b in order.
__device__ __forceinline__ void order(int& a, int& b)
{
    const int less = min(a, b);
    b = max(a, b);
    a = less;
}

__device__ __forceinline__ int middle(int a, int b, int c) { return max(min(a, b), min(max(a, b), c)); }

extern "C" __global__ void median_unguarded_columns(const unsigned char* image, unsigned char* smooth, int H, int W)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= H || column >= W) return;

    int p[9];
#pragma unroll
    for (int k = 0; k < 9; ++k) {
        const int y = min(max(row + k / 3 - 1, 0), H - 1), x = column + k % 3 - 1;
        p[k] = image[(long long)y * W + x];  // <- here
    }
#pragma unroll
    for (int k = 0; k < 3; ++k) {  // each column from above to below
        order(p[k], p[k + 3]);
        order(p[k + 3], p[k + 6]);
        order(p[k], p[k + 3]);
    }
    const int low = max(max(p[0], p[1]), p[2]), high = min(min(p[6], p[7]), p[8]);
    smooth[(size_t)row * W + column] = middle(low, middle(p[3], p[4], p[5]), high);
}
