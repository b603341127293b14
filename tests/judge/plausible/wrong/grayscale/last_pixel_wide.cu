// grid: ceil(H*W/512)
// block: 128
// fault: tail of 4
// kinds: out_of_bounds
// Four pixels per thread from twelve bytes read one by one: the last thread reads all twelve where fewer pixels are left.
__global__ void gray(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    int first = 4 * (blockIdx.x * 128 + threadIdx.x), n = H * W;
    if (first >= n) return;
    unsigned char p[12];
    for (int k = 0; k < 12; ++k) p[k] = ((const volatile unsigned char*)rgb)[3 * first + k];
    for (int k = 0; k < 4; ++k)
        if (first + k < n) gray[first + k] = (p[3 * k] * 77 + p[3 * k + 1] * 150 + p[3 * k + 2] * 29 + 128) >> 8;
}
