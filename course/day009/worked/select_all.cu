// All four curves for every sample, and one of the results is kept.
//
// entry: select_all
// block: 256
// grid: ceil(n/256)

__device__ float thermistor(float v)  // e to the v, by ten terms of its series
{
    float r = 1.0f;
    for (int k = 10; k > 0; --k) r = 1.0f + r * (v * (1.0f / k));
    return r;
}

__device__ float microphone(float v)  // a soft limiter: six steps towards -1, 0 or 1
{
    for (int k = 0; k < 6; ++k) v = v * (1.5f - 0.5f * v * v);
    return v;
}

__device__ float photodiode(float v)  // bent upwards, eight times by a little
{
    for (int k = 0; k < 8; ++k) v = v + 0.125f * v * v;
    return v;
}

__device__ float flow_meter(float v)  // the square root of 1 + v * v, by four of Newton's steps
{
    const float square = 1.0f + v * v;
    float inverse = 0.85f;
    for (int k = 0; k < 4; ++k) inverse = inverse * (1.5f - 0.5f * square * inverse * inverse);
    return square * inverse;
}

extern "C" __global__ void select_all(const float* x, float* y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    const float v = x[i];
    const float a = thermistor(v), b = microphone(v), c = photodiode(v), d = flow_meter(v);
    const int channel = i % 4;
    y[i] = channel == 0 ? a : channel == 1 ? b : channel == 2 ? c : d;
}
