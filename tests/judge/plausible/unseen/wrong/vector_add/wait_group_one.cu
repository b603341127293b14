// grid: ceil(n/256)
// block: 256
// fault: missing wait
// kinds: unwaited_copy
// Cp.async.wait_group 1 lets the latest group, which is the only one, still be under way: shared memory is read before the copies have arrived (every n >= 1).

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    __shared__ float left[256], right[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    if (i < n) {
        const unsigned l = (unsigned)__cvta_generic_to_shared(left + t), r = (unsigned)__cvta_generic_to_shared(right + t);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(l), "l"(a + i) : "memory");
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(r), "l"(b + i) : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    if (i < n) c[i] = left[t] + right[t];
}
