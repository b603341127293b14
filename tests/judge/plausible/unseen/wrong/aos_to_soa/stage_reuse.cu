// grid: SMS
// block: 256
// fault: staging reused
// kinds: race
// In the block's next round records are staged while slow warps still store the last ones.
__global__ void aos_to_soa(const float* records, float* fields, int n)
{
    __shared__ float stage[32][9];
    int t = threadIdx.x;
    for (int begin = blockIdx.x * 32; begin < n; begin += gridDim.x * 32) {
        if (begin + t / 8 < n) stage[t / 8][t % 8] = records[(size_t)begin * 8 + t];
        __syncthreads();
        int i = begin + t % 32, f = t / 32;
        if (i < n) fields[(size_t)f * n + i] = stage[t % 32][f];
    }
}
