// grid: ceil(n/256)
// block: 256
// fault: alignment
// kinds: misaligned
// Two float4 per record, records being 32 bytes; the array itself need not begin at 16.
__global__ void aos_to_soa(const float* records, float* fields, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    const float4* r = reinterpret_cast<const float4*>(records) + 2 * i;
    float4 a = r[0], b = r[1];
    fields[i] = a.x;
    fields[n + i] = a.y;
    fields[2 * n + i] = a.z;
    fields[3 * n + i] = a.w;
    fields[4 * n + i] = b.x;
    fields[5 * n + i] = b.y;
    fields[6 * n + i] = b.z;
    fields[7 * n + i] = b.w;
}
