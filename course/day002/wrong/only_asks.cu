// The program asks whether the device is done, and does not look at the answer. Asking takes a moment, and in that moment
// a fast device prints its lines. On another day it is not that fast, and the program ends before it.
//
// expect: not_waited

#include <cstdio>
#include <cstdlib>

__global__ void hello()
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int left = blockDim.x - 32 * warp;
    const int threads = left < 32 ? left : 32;
    if (lane == 0) printf("block %d, warp %d: %d threads\n", blockIdx.x, warp, threads);
}

int main(int argc, char** argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: hello BLOCKS THREADS\n");
        return 2;
    }
    const int blocks = atoi(argv[1]), threads = atoi(argv[2]);

    hello<<<blocks, threads>>>();
    cudaStreamQuery(0);
    return 0;
}
