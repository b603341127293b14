// Hardware tanh: tanh.approx has eleven bits, enough for 16-bit results and not for float32.
//
// entry: gelu_backward_hardware_tanh
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void gelu_backward_hardware_tanh(const float* x, const float* dy, float* dx, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float a = x[i];
    float t;
    asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(0.7978845608f * (a + 0.044715f * a * a * a)));
    dx[i] = dy[i] * (0.5f * (1.0f + t) + 0.5f * a * (1.0f - t * t) * 0.7978845608f * (1.0f + 3.0f * 0.044715f * a * a));
}
