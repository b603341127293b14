// Sigmoid alone: the gate is taken for its sigmoid, and is not itself a factor.
//
// entry: swiglu_sigmoid_alone
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void swiglu_sigmoid_alone(const float* gate, const float* up, float* out, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = up[i] / (1.0f + expf(-gate[i]));
}
