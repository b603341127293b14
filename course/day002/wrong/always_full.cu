// Always 32. A warp is 32 threads, so that need not be worked out. In hardware it is, but of a block of 80 threads the third
// warp has only 16 that exist; the others are off.
//
// expect: wrong_lines

#include <cstdio>
#include <cstdlib>

__global__ void hello()
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int threads = 32;  // <- here
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
