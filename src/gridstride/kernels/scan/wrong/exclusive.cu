// Exclusive: the running sum is written before the element is added to it.
//
// entry: scan_exclusive
// block: 1
// grid: 1
// expect: wrong_result

extern "C" __global__ void scan_exclusive(const float* x, float* y, int n)
{
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) {
        y[i] = sum;
        sum += x[i];
    }
}
