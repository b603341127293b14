// grid: ceil(n/256)
// block: 256
// fault: race within a warp
// kinds: race
// Each warp stages its 32 records in shared memory of its own, "in lock step", with no __syncwarp().
__global__ void aos_to_soa(const float* records, float* fields, int n)
{
    __shared__ float stage[8][32 * 8 + 8];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int first = (blockIdx.x * 8 + warp) * 32;
    const int count = min(32, n - first);
    if (count <= 0) return;
    for (int k = lane; k < count * 8; k += 32) stage[warp][k + k / 32] = records[(size_t)first * 8 + k];
    // a warp is in lock step: no barrier needed
    if (lane < count) {
        for (int f = 0; f < 8; ++f) {
            const int k = lane * 8 + f;
            fields[(size_t)f * n + first + lane] = stage[warp][k + k / 32];
        }
    }
}
