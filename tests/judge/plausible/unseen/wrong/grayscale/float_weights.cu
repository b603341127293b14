// grid: ceil(W/32) ceil(H/8)
// block: 32 8
// fault: numerics: other formula
// kinds: wrong_result
// 0.299 R + 0.587 G + 0.114 B in float, rounded: one off from the whole-number formula for some colours.
__global__ void grayscale(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x >= W || y >= H) return;
    const unsigned char* c = rgb + 3 * ((size_t)y * W + x);
    gray[(size_t)y * W + x] = (unsigned char)(0.299f * c[0] + 0.587f * c[1] + 0.114f * c[2] + 0.5f);
}
