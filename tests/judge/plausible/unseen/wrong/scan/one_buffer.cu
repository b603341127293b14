// grid: 1
// block: 512
// fault: race in shared memory
// kinds: race
// Hillis-Steele in one buffer with one barrier per step: a thread may read what its neighbour has already added to.
__global__ void scan(const float* x, float* y, int n)
{
    __shared__ float s[512];
    float carry = 0;
    for (int base = 0; base < n; base += 512) {
        int i = base + threadIdx.x;
        s[threadIdx.x] = i < n ? x[i] : 0.0f;
        __syncthreads();
        for (int d = 1; d < 512; d *= 2) {
            if (threadIdx.x >= d) s[threadIdx.x] += s[threadIdx.x - d];
            __syncthreads();
        }
        if (i < n) y[i] = carry + s[threadIdx.x];
        carry += s[511];
        __syncthreads();
    }
}
