// grid: ceil(H*W/256)
// block: 256
// fault: overflow
// kinds: wrong_result
// The sum is kept in a short: from 32,768 on it is negative, and bright pixels turn to noise.
__global__ void gray(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= H * W) return;
    short sum = 128;
    sum += 77 * rgb[3 * i];
    sum += 150 * rgb[3 * i + 1];
    sum += 29 * rgb[3 * i + 2];
    int level = sum / 256;
    gray[i] = (unsigned char)max(level, 0);
}
