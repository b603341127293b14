// Writes nothing and hopes that the reference's result still lies in the output's memory.
//
// block: 256
// grid: ceil(n/256)
// expect: wrong_result never_written

__global__ void add(const float* a, const float* b, float* c, int n)
{
    if (n < 0) c[0] = a[0] + b[0];
}
