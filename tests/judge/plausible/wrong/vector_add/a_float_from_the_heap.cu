// grid: ceil(n/256)
// block: 256
// fault: device heap
// kinds: out_of_memory
// Every thread takes its temporary from malloc: 1,056 blocks of them are more than the heap of 8 MiB.
__global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    float* sum = (float*)malloc(16 * sizeof(float));
    sum[0] = i < n ? a[i] + b[i] : 0.f;
    if (i < n) c[i] = sum[0];
    free(sum);
}
