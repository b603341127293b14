// grid: ceil(H*W/128)
// block: 128
// fault: missing barrier
// kinds: race uninitialised_read wrong_result
// 384 bytes are staged by all threads, byte by byte in order; the only barrier is one of the warp.
__global__ void gray(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    __shared__ unsigned char s[384];
    const int n = H * W, base = blockIdx.x * 128, t = threadIdx.x;
    for (int k = t; k < 384; k += 128)
        if (3 * base + k < 3 * n) s[k] = rgb[3 * (size_t)base + k];
    __syncwarp();
    if (base + t < n) gray[base + t] = (s[3 * t] * 77 + s[3 * t + 1] * 150 + s[3 * t + 2] * 29 + 128) >> 8;
}
