// fault: positions beyond the tables take the last one instead of beginning again
// kinds: wrong_result
// grid: ceil(N*H*32/256)
// block: 256
__global__ void rotary(
    const float* x, const float* cosine, const float* sine, float* y, int N, int H, int C, int gap, float direction)
{
    const long long pair = (long long)blockIdx.x * blockDim.x + threadIdx.x, head = pair / 32, at = head * 64 + pair % 32;
    const int row = int(head / H), angle = min(row, C - 1) * (32 + gap) + int(pair % 32);
    if (row >= N) return;
    const float c = cosine[angle], s = sine[angle] * direction, a = x[at], b = x[at + 32];
    y[at] = a * c - b * s;
    y[at + 32] = b * c + a * s;
}
