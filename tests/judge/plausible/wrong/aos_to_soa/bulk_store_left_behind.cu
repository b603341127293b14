// grid: ceil(n/256)
// block: 256
// needs: 9.0
// fault: missing wait
// kinds: unwaited_copy
// Bulk stores from shared memory are committed, but the block leaves without cp.async.bulk.wait_group.read: its
// shared memory may go to another block before it was read.
__global__ void soa(const float* records, float* fields, int n)
{
    __shared__ __align__(16) float s[8][256];
    size_t base = blockIdx.x * (size_t)256;
    int t = threadIdx.x, here = n - base < 256 ? n - base : 256;
    for (int i = t; i < here * 8; i += 256) s[i % 8][i / 8] = records[base * 8 + i];
    bool whole = here == 256 && n % 4 == 0 && ((size_t)fields & 15) == 0;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (whole) {
        if (t < 8) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" :: "l"(fields + (size_t)t * n + base), "r"((unsigned)__cvta_generic_to_shared(s[t])) : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
    } else if (t < here)
        for (int f = 0; f < 8; f++) fields[(size_t)f * n + base + t] = s[f][t];
}
