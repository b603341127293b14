// total += x[0] + … + x[n - 1]: a block adds up in a word of its own, and once to the total. The total is not 0 at first.
//
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void sum(const float* x, float* total, int n)
{
    __shared__ float of_block;

    const int t = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + t;

    // 1. What must be in `of_block` before anybody adds to it? Who puts it there, and who has to wait for that?

    // 2. Every thread that has an element adds it to `of_block`. 256 threads want the same word.

    // 3. The block's sum goes to the total. When is it complete, and how many threads hand it on?
}
