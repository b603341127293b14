// right: eight integer loads a thread, grid of one dimension
// grid: ceil(n/64)
// block: 64
__global__ void aos_to_soa(const float* records, float* fields, int n)
{
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= n) return;
    const unsigned* r = reinterpret_cast<const unsigned*>(records) + 8ll * i;
    unsigned* f = reinterpret_cast<unsigned*>(fields) + i;
    for (int k = 8; k-- > 0; ) f[(long long)k * n] = r[k];
}
