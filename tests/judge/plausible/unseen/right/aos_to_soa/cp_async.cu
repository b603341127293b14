// right: cp.async of 4 bytes, two stages, each warp on its own
// grid: SMS
// block: 128
// needs: 8.0
__global__ void aos_to_soa(const float* records, float* fields, int n)
{
    __shared__ float stage[4][2][32 * 9];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, step = gridDim.x * 4;
    auto fetch = [&](long long group, int s) {
        for (int k = lane; k < 256; k += 32) {
            const long long i = group * 32 + k / 8;
            if (i < n) {
                const unsigned at = (unsigned)__cvta_generic_to_shared(&stage[warp][s][k / 8 * 9 + k % 8]);
                asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(records + i * 8 + k % 8) : "memory");
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    long long group = blockIdx.x * 4 + warp;
    fetch(group, 0);
    for (int s = 0; group * 32 < n; group += step, s ^= 1) {
        fetch(group + step, s ^ 1);
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncwarp();
        const long long i = group * 32 + lane;
        if (i < n)
            for (int f = 0; f < 8; ++f) fields[(size_t)f * n + i] = stage[warp][s][lane * 9 + f];
        __syncwarp();
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
}
