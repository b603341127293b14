// Each block gets a launch of its own, and its number as an argument. A loop over all blocks is what one writes on the
// host, so it looks natural here too, and every line is right. But five launches are five grids of one block: nobody has
// asked the GPU for a grid of five, and blockIdx.x is 0 in all of them.
//
// expect: too_many launches

// hello BLOCKS THREADS: each warp of each block prints one line, "block 2, warp 1: 16 threads".
//
// The warp's first thread speaks for all of it; the last warp of a block has what is left over.

#include <cstdio>
#include <cstdlib>

__global__ void hello(int block)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int left = blockDim.x - 32 * warp;
    const int threads = left < 32 ? left : 32;
    if (lane == 0) printf("block %d, warp %d: %d threads\n", block, warp, threads);
}

int main(int argc, char** argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: hello BLOCKS THREADS\n");
        return 2;
    }
    const int blocks = atoi(argv[1]), threads = atoi(argv[2]);

    for (int b = 0; b < blocks; b++) hello<<<1, threads>>>(b);  // <- here
    cudaDeviceSynchronize();
    return 0;
}
