// Swapped index: the records are written as they came, one after the other.
//
// entry: aos_to_soa_swapped_index
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void aos_to_soa_swapped_index(const float* records, float* fields, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int f = 0; f < 8; ++f) fields[(long long)i * 8 + f] = records[(long long)i * 8 + f];
}
