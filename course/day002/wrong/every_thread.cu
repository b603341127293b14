// Every thread prints. The kernel says what the line of a warp is, and it reads as if it were said once. But it is run by each
// of the 32 threads, and printf is an instruction like any other: all of them print the same.
//
// expect: wrong_lines

#include <cstdio>
#include <cstdlib>

__global__ void hello()
{
    const int warp = threadIdx.x / 32;
    const int left = blockDim.x - 32 * warp;
    const int threads = left < 32 ? left : 32;
    printf("block %d, warp %d: %d threads\n", blockIdx.x, warp, threads);  // <- here
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
