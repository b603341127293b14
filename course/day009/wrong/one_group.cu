// One group. Samples are counted as if a block had four warps: warps 4 to 7 take the samples of warps 0 to 3 once more. Half
// of the results are right, and so is every test with 128 samples.
//
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

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

__device__ float calibrated(int channel, float v)
{
    switch (channel) {
        case 0: return thermistor(v);
        case 1: return microphone(v);
        case 2: return photodiode(v);
        default: return flow_meter(v);
    }
}

extern "C" __global__ void calibrate(const float* x, float* y, int n)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int channel = warp % 4;
    const int i = blockIdx.x * 256 + lane * 4 + channel;
    if (i < n) y[i] = calibrated(channel, x[i]);
}
