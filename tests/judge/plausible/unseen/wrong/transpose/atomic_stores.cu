// grid: ceil(N/32), ceil(M/32)
// block: 32, 1
// fault: atomics within a warp
// kinds: race
// The tile is written by atomicExch and read plainly, with no __syncwarp between.

__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float t[32][33];  int l = threadIdx.x, x = blockIdx.x * 32 + l, y = blockIdx.y * 32; 
    for (int k = 0; k < 32; k++) if (x < N && y + k < M) atomicExch(&t[k][l], in[(size_t)(y + k) * N + x]);
    
    x = blockIdx.y * 32 + l; y = blockIdx.x * 32;
    for (int k = 0; k < 32; k++) if (x < M && y + k < N) out[(size_t)(y + k) * M + x] = t[l][k];
}
