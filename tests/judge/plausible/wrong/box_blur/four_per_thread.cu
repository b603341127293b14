// grid: ceil(W/128) ceil(H/8)
// block: 32 8
// fault: tail of 4
// kinds: misaligned out_of_bounds
// Stores four results as a float4 wherever the first lies in the image: W % 4 != 0 runs into the next row or over the end.
__global__ void blur4(const float* image, float* blurred, int H, int W)
{
    int x0 = 4 * (blockIdx.x * 32 + threadIdx.x), y = blockIdx.y * 8 + threadIdx.y;
    if (x0 >= W || y >= H) return;
    float m[4];
    for (int k = 0; k < 4; ++k) {
        float s = 0;
        int n = 0;
        for (int r = max(y - 2, 0); r <= min(y + 2, H - 1); ++r)
            for (int c = max(x0 + k - 2, 0); c <= min(x0 + k + 2, W - 1); ++c) s += image[(size_t)r * W + c], ++n;
        m[k] = s / n;
    }
    *reinterpret_cast<float4*>(blurred + (size_t)y * W + x0) = make_float4(m[0], m[1], m[2], m[3]);
}
