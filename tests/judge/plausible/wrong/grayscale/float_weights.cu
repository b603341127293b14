// grid: ceil(W/16) ceil(H/16)
// block: 16 16
// fault: wrong formula
// kinds: wrong_result
// 0.299, 0.587, 0.114 in floats: some of the 16 million colours come out one grey lighter or darker.
__global__ void rgb2gray(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= W || y >= H) return;
    const unsigned char* p = rgb + 3 * (y * W + x);
    gray[y * W + x] = (unsigned char)(0.299f * p[0] + 0.587f * p[1] + 0.114f * p[2] + 0.5f);
}
