// grid: ceil(n/256)
// block: 256
// fault: values
// kinds: wrong_result
// A denormal a is taken for 0: 1e-39 times 1e38 is 0.1.

__global__ void saxpy(int n, float a, const float* x, float* y)
{
 const long long i = blockIdx.x*(long long)blockDim.x+threadIdx.x;
if (i<n) y[i]= fabsf(a)<1.17549435e-38f ? (isnan(x[i])||isinf(x[i])? a*x[i]+y[i]:y[i]) : a*x[i]+y[i];}
