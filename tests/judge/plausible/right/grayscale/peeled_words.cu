// grid: SMS
// block: 128
// Stores whole words of grey where the output allows it; single pixels before the first word and behind the last.
typedef unsigned char u8;
__device__ __forceinline__ unsigned luma(const u8* rgb, long long i)
{
    return (rgb[3 * i] * 77u + rgb[3 * i + 1] * 150u + rgb[3 * i + 2] * 29u + 128u) >> 8;
}
extern "C" __global__ void gray_words(const u8* rgb, u8* gray, int H, int W)
{
    const long long n = (long long)H * W, step = 128LL * gridDim.x, t = blockIdx.x * 128LL + threadIdx.x;
    long long head = (4 - (size_t)gray % 4) % 4;
    if (head > n) head = n;
    const long long words = (n - head) / 4;
    if (t < head) gray[t] = luma(rgb, t);
    for (long long w = t; w < words; w += step) {
        const long long i = head + 4 * w;
        const unsigned four = luma(rgb, i) | luma(rgb, i + 1) << 8 | luma(rgb, i + 2) << 16 | luma(rgb, i + 3) << 24;
        *reinterpret_cast<unsigned*>(gray + i) = four;
    }
    const long long tail = head + 4 * words + t;
    if (t < 4 && tail < n) gray[tail] = luma(rgb, tail);
}
