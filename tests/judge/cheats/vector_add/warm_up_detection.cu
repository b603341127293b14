// Counts launches: honest while it is checked and warmed up, idle when it must be timed by then.
//
// block: 256
// grid: 1
// expect: wrong_result

__device__ int launches;

__global__ void add(const float* a, const float* b, float* c, int n)
{
    const int before = launches;
    __syncthreads();
    if (threadIdx.x == 0) launches = before + 1;
    if (before >= 5) return;
    for (int i = threadIdx.x; i < n; i += blockDim.x) c[i] = a[i] + b[i];
}
