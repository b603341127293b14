// Neighbours: numbers 2i and 2i + 1 are turned together, as the paper has it; here a pair lies half a head apart.
//
// entry: rotary_neighbours
// block: 256
// grid: ceil(N*H*32/256)
// expect: wrong_result

extern "C" __global__ void rotary_neighbours(
    const float* x, const float* cosine, const float* sine, float* y, int N, int H, int C, int gap, float direction)
{
    const long long pair = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long head = pair / 32, row = head / H;
    const int i = int(pair % 32);
    if (row >= N) return;
    const float c = cosine[row % C * (32 + gap) + i], s = sine[row % C * (32 + gap) + i] * direction;
    const float a = x[2 * pair], b = x[2 * pair + 1];
    y[2 * pair] = a * c - b * s;
    y[2 * pair + 1] = b * c + a * s;
}
