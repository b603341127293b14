// grid: ceil(W/33) H
// block: 33
// In float32, exact below 2^24: floor of (sum + 128) / 256.
__global__ void gray_float(const uchar3* rgb, unsigned char* gray, int H, int W)
{
    const int x = blockIdx.x * 33 + threadIdx.x;
    if (x >= W) return;
    const size_t i = (size_t)blockIdx.y * W + x;
    const unsigned char* p = reinterpret_cast<const unsigned char*>(rgb + i);
    gray[i] = (unsigned char)floorf((77.0f * p[0] + 150.0f * p[1] + 29.0f * p[2] + 128.0f) * (1.0f / 256.0f));
}
