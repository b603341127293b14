// Direction ignored: it turns forwards, also where the turn back is asked for.
//
// entry: rotary_direction_ignored
// block: 256
// grid: ceil(N*H*32/256)
// expect: wrong_result

extern "C" __global__ void rotary_direction_ignored(
    const float* x, const float* cosine, const float* sine, float* y, int N, int H, int C, int gap, float direction)
{
    const long long pair = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long head = pair / 32, row = head / H, at = head * 64 + pair % 32;
    if (row >= N) return;
    const long long angle = row % C * (32 + gap) + pair % 32;
    const float c = cosine[angle], s = sine[angle];
    y[at] = x[at] * c - x[at + 32] * s;
    y[at + 32] = x[at + 32] * c + x[at] * s;
}
