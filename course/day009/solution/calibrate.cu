// y[i] = the curve of channel i mod 4 of x[i], each warp going through one curve only.
//
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

    // Four warps share 128 samples, 32 of each channel; the block has two such groups of warps.
    const int channel = warp % 4;
    const int i = blockIdx.x * 256 + warp / 4 * 128 + lane * 4 + channel;

    if (i < n) y[i] = calibrated(channel, x[i]);
}
