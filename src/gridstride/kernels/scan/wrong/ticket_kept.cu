// Ticket kept: tiles are handed out by a counter that nobody takes back to zero, so the tiles of a second
// launch begin where those of the first have ended, and wait for the last of them.
//
// entry: scan_ticket_kept
// block: 256
// grid: ceil(n/256)
// expect: deadlock

__device__ float running[1 << 16];
__device__ unsigned int ready[1 << 16];  // taken back to 0 by the one who waits for it
__device__ unsigned int tickets;

extern "C" __global__ void scan_ticket_kept(const float* x, float* y, int n)
{
    __shared__ float sums[2][256], before;
    __shared__ unsigned int tile;
    const int t = threadIdx.x;
    if (t == 0) tile = atomicAdd(&tickets, 1u);
    __syncthreads();
    const int i = tile * 256 + t;
    int from = 0;
    sums[from][t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        sums[1 - from][t] = sums[from][t] + (t >= d ? sums[from][t - d] : 0.0f);
        from = 1 - from;
        __syncthreads();
    }
    if (t == 0) {
        before = 0.0f;
        if (tile > 0) {
            while (atomicExch(&ready[tile - 1], 0u) == 0) {}  // <- here
            __threadfence();
            before = running[tile - 1];
        }
        if (tile + 1 < gridDim.x) {
            running[tile] = before + sums[from][255];
            __threadfence();
            atomicExch(&ready[tile], 1u);
        }
    }
    __syncthreads();
    if (i < n) y[i] = before + sums[from][t];
}
