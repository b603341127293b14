// Turned twice: the second number of a pair is turned with the first one's new value, through y in place of a register.
//
// entry: rotary_turned_twice
// block: 256
// grid: ceil(N*H*32/256)
// expect: wrong_result

extern "C" __global__ void rotary_turned_twice(
    const float* x, const float* cosine, const float* sine, float* y, int N, int H, int C, int gap, float direction)
{
    const long long pair = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long head = pair / 32, row = head / H, at = head * 64 + pair % 32;
    if (row >= N) return;
    const long long angle = row % C * (32 + gap) + pair % 32;
    const float c = cosine[angle], s = sine[angle] * direction;
    y[at] = x[at] * c - x[at + 32] * s;
    y[at + 32] = x[at + 32] * c + y[at] * s;
}
