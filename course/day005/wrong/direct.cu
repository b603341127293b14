// Direct. The lesson's plain kernel under the lab's name: every value is right, and the stores are side by side. But lanes are
// eight floats apart in each load, which is what the detour through shared memory was to end.
//
// block: 256
// grid: ceil(n/256)
// expect: too_many sectors_over

extern "C" __global__ void aos_to_soa(const float* records, float* fields, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int f = 0; f < 8; ++f) {
        fields[(long long)f * n + i] = records[i * 8LL + f];  // <- here
    }
}
