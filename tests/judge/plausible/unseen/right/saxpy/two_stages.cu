// grid: 20
// block: 128
// X comes by cp.async in two stages, a thread copying what it reads itself, so that waiting for the group is enough and no barrier is needed.

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    __shared__ float stage[2][128];
    const int stride = gridDim.x * 128;
    auto fetch = [&](int s, int i) {
        const unsigned to = (unsigned)__cvta_generic_to_shared(&stage[s][threadIdx.x]);
        if (i < n) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(x + i) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    int s = 0;
    fetch(0, blockIdx.x * 128 + threadIdx.x);
    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += stride) {
        fetch(s ^ 1, i < n - stride ? i + stride : n);
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        y[i] = fmaf(a, stage[s][threadIdx.x], y[i]);
        s ^= 1;
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
}
