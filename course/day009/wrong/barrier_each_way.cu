// Barrier each way. The samples go through shared memory, and there is a barrier in either branch, so that every thread comes
// to one. But these are two barriers: lanes of one warp wait at different ones.
//
// block: 256
// grid: ceil(n/256)
// expect: barrier_divergence

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

extern "C" __global__ void calibrate(const float* x, float* y, int n)
{
    __shared__ float stage[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    const float v = i < n ? x[i] : 0.0f;
    if (i % 4 < 2) {
        stage[t] = i % 4 == 0 ? thermistor(v) : microphone(v);
        __syncthreads();  // <- here
    } else {
        stage[t] = i % 4 == 2 ? photodiode(v) : flow_meter(v);
        __syncthreads();  // <- here
    }
    if (i < n) y[i] = stage[t];
}
