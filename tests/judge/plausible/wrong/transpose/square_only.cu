// grid: ceil(N/32) ceil(M/32)
// block: 32 8
// fault: non-square
// kinds: wrong_result out_of_bounds race
// One width for both matrices: right for M == N alone.
#define TILE 32
__global__ void transposeCoalesced(const float *in, float *out, int M, int N) {
  __shared__ float tile[TILE][TILE + 1];
  int width = N;
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += 8)
    if (x < N && y + j < M) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x;
  y = blockIdx.x * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += 8)
    if (x < M && y + j < N) out[(y + j) * width + x] = tile[threadIdx.x][threadIdx.y + j];
}
