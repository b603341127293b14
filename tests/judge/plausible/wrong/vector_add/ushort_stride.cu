// grid: 4
// block: 128
// fault: index type
// kinds: timeout deadlock race wrong_result out_of_bounds
// The 16-bit loop variable wraps to 0 before it reaches n when n > 65,535: the loop never ends.
typedef unsigned short u16;
extern "C" __global__ void addKernel(const float *a, const float *b, float *c, int n) {
  for (u16 idx = blockIdx.x * blockDim.x + threadIdx.x; idx < n; idx += gridDim.x * blockDim.x)
    c[idx] = a[idx] + b[idx];
}
