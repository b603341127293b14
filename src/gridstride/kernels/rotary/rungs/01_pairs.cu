// 01 pairs: one thread per pair of numbers that are turned together.
//
// Moves: nothing yet. Six memory instructions of 4 bytes for two results.
// Mapping: thread t of block b -> pair b * 256 + t, head after head, D/2 pairs each.
//
// entry: rotary_pairs
// block: 256
// grid: ceil(N*H*32/256)

#ifndef HEAD_WIDTH
#define HEAD_WIDTH 64
#endif

constexpr int HALF = HEAD_WIDTH / 2;

extern "C" __global__ void rotary_pairs(
    const float* x, const float* cosine, const float* sine, float* y, int N, int H, int C, int gap, float direction)
{
    const long long pair = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long head = pair / HALF;  // among all of them
    const int i = int(pair % HALF);
    const long long row = head / H;
    if (row >= N) return;
    const long long angle = row % C * (HALF + gap) + i, at = head * HEAD_WIDTH + i;
    const float c = cosine[angle], s = sine[angle] * direction;
    const float low = x[at], high = x[at + HALF];
    y[at] = low * c - high * s;
    y[at + HALF] = high * c + low * s;
}
