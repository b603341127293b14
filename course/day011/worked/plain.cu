// Every thread adds 1 to a counter, as one would in C.
//
// entry: plain
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void plain(int* counter, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) *counter += 1;
}
