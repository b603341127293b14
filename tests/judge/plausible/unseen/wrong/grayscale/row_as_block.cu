// grid: H
// block: W
// fault: launch
// kinds: launch
// One thread per column of a row: a block has at most 1024 threads, so that W > 1024 (70000 is promised) cannot be launched.

__global__ void grayscale(const unsigned char* rgb, unsigned char* gray, int H, int W)
{
    const size_t i = (size_t)blockIdx.x * W + threadIdx.x;
    gray[i] = (77 * rgb[3 * i] + 150 * rgb[3 * i + 1] + 29 * rgb[3 * i + 2] + 128) >> 8;
}
