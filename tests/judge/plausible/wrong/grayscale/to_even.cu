// grid: ceil(H*W/256)
// block: 256
// fault: wrong formula
// kinds: wrong_result
// rintf rounds a half to the even neighbour, the statement's rule upwards: wrong where the sum ends in a half.
__global__ void gray_rint(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= H * W) return;
    float luma = (77.0f * rgb[3 * i] + 150.0f * rgb[3 * i + 1] + 29.0f * rgb[3 * i + 2]) / 256.0f;
    gray[i] = (unsigned char)rintf(luma);
}
