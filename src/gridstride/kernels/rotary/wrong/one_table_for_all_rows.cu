// One table for all rows: row n reads row n of the tables, which have C.
//
// entry: rotary_one_table_for_all_rows
// block: 256
// grid: ceil(N*H*32/256)
// expect: out_of_bounds

extern "C" __global__ void rotary_one_table_for_all_rows(
    const float* x, const float* cosine, const float* sine, float* y, int N, int H, int C, int gap, float direction)
{
    const long long pair = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long head = pair / 32, row = head / H, at = head * 64 + pair % 32;
    if (row >= N) return;
    const long long angle = row * (32 + gap) + pair % 32;
    const float c = cosine[angle], s = sine[angle] * direction;  // <- here
    y[at] = x[at] * c - x[at + 32] * s;
    y[at + 32] = x[at + 32] * c + x[at] * s;
}
