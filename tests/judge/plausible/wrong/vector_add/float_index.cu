// grid: ceil(n/256)
// block: 256
// fault: index type
// kinds: wrong_result race
// The index goes through a float: above 2^24 = 16,777,216 odd elements are never written and even ones twice.
__global__ void add(const float* a, const float* b, float* c, int n)
{
    float position = blockIdx.x * 256.0f + threadIdx.x;
    int i = (int)position;
    if (i < n) c[i] = a[i] + b[i];
}
