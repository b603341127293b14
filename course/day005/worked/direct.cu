// One thread carries one record of eight floats, field by field.
//
// entry: direct
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void direct(
    const float* records, float* fields, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int f = 0; f < 8; ++f) {
        fields[f * n + i] = records[i * 8 + f];
    }
}
