// Swapped. The numbers come as BLOCKS THREADS, and between the brackets they look as good the other way round. The first is
// the grid: this launches 80 blocks of 5 threads.
//
// expect: wrong_lines

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

    hello<<<threads, blocks>>>();  // <- here
    cudaDeviceSynchronize();
    return 0;
}
