// Float by float. A thread for each float, and the loads are coalesced without any shared memory. The stride has not gone, it
// has moved into the stores: 32 lanes have four records, and write to eight fields, four floats in each.
//
// block: 256
// grid: ceil(n/32)
// expect: too_many sectors_over

extern "C" __global__ void aos_to_soa(const float* records, float* fields, int n)
{
    const long long k = blockIdx.x * 256LL + threadIdx.x;
    if (k >= 8LL * n) return;
    const float value = records[k];
    fields[k % 8 * n + k / 8] = value;  // <- here
}
