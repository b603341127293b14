// 02 hillis-steele: a block scans 1024 elements in ten rounds; in each of them all add the one `distance` before them.
//
// Moves: requests to global memory, from one for each element to one for each 32; the chain of additions for 1024
//   elements, from 1024 to 10. The price: 1024 * 10 additions in place of 1024, and a barrier for each round.
// Mapping: thread t -> element t of the tile; the one block goes from tile to tile and takes the running sum with it.
//
// entry: scan_hillis_steele
// block: 1024
// grid: 1

constexpr int TILE = 1024;  // elements, and threads

extern "C" __global__ void __launch_bounds__(TILE)
scan_hillis_steele(const float* __restrict__ x, float* __restrict__ y, int n)
{
    __shared__ float sums[2][TILE];  // a round reads one and writes the other: nobody reads what is being overwritten

    const int t = threadIdx.x;
    float carry = 0.0f;  // sum of all tiles before this one
    for (long long first = 0; first < n; first += TILE) {
        int from = 0;
        sums[from][t] = first + t < n ? x[first + t] : 0.0f;
        __syncthreads();

        for (int distance = 1; distance < TILE; distance *= 2) {
            const float own = sums[from][t];
            sums[1 - from][t] = t >= distance ? sums[from][t - distance] + own : own;
            from = 1 - from;
            __syncthreads();
        }
        if (first + t < n) y[first + t] = carry + sums[from][t];
        carry += sums[from][TILE - 1];
        __syncthreads();  // everybody has read the last sum before the next tile takes its place
    }
}
