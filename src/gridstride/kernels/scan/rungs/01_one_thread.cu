// 01 one thread: goes through the array and writes down the running sum.
//
// Moves: nothing yet. n additions, each of which waits for the one before it, and one lane of one warp at work.
// Mapping: thread 0 -> every element, in turn.
//
// entry: scan_one_thread
// block: 1
// grid: 1

extern "C" __global__ void scan_one_thread(const float* __restrict__ x, float* __restrict__ y, int n)
{
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) {
        sum += x[i];
        y[i] = sum;
    }
}
