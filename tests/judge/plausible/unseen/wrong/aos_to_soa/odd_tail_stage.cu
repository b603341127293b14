// A warp stages 32 records in shared memory without padding of time: lanes write, __syncwarp with the mask of those that had a record, lanes read all.
// Wrong in a warp with a tail whose readers are not in the mask: with n % 32 == 5 lanes 5-31 read fields of records 0-4 unsynchronised.
// grid: max(1, ceil(n/128))
// block: 128
// fault: odd tail stage
// kinds: race
__global__ void aos_to_soa(const float* records, float* fields, int n)
{
    __shared__ int stage[4][32][9];
    const int w = threadIdx.x / 32, lane = threadIdx.x % 32;
    const long long first = (long long)blockIdx.x * 128 + w * 32;
    const int count = (int)max(0ll, min(32ll, n - first));
    const unsigned int mask = __ballot_sync(~0u, lane < count);
    if (lane < count) {
        for (int f = 0; f < 8; ++f) stage[w][lane][f] = ((const int*)records)[(first + lane) * 8 + f];
        __syncwarp(mask);
    }
    for (int e = lane; e < 8 * count; e += 32) ((int*)fields)[(long long)(e / count) * n + first + e % count] = stage[w][e % count][e / count];
}
