// 01 direct: one thread carries one record, field by field.
//
// Moves: nothing yet. The lanes of a warp read addresses 32 bytes apart, so each of eight loads asks for 32 sectors
//   and uses 4 bytes of each; the stores are side by side.
// Mapping: thread t of block b -> record b * 256 + t, all eight fields.
//
// entry: aos_to_soa_direct
// block: 256
// grid: ceil(n/256)

constexpr int FIELDS = 8;

extern "C" __global__ void aos_to_soa_direct(const float* records, float* fields, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int f = 0; f < FIELDS; ++f) fields[(long long)f * n + i] = records[(long long)i * FIELDS + f];
}
