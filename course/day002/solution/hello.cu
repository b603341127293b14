// hello BLOCKS THREADS: each warp of each block prints one line, "block 2, warp 1: 16 threads".
//
// The warp's first thread speaks for all of it; the last warp of a block has what is left over.

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
    cudaDeviceSynchronize();
    return 0;
}
