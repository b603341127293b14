// One thread for all. A kernel prints the lines, as it must, and they are right. But it is a single thread that goes through
// blocks and warps in two loops, so there is one warp in the launch, and the lines tell of warps that never were.
//
// expect: too_few launched

#include <cstdio>
#include <cstdlib>

__global__ void hello(int blocks, int threads)
{
    for (int block = 0; block < blocks; ++block)
        for (int first = 0; first < threads; first += 32) {
            const int left = threads - first;
            printf("block %d, warp %d: %d threads\n", block, first / 32, left < 32 ? left : 32);
        }
}

int main(int argc, char** argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: hello BLOCKS THREADS\n");
        return 2;
    }
    const int blocks = atoi(argv[1]), threads = atoi(argv[2]);

    hello<<<1, 1>>>(blocks, threads);  // <- here
    cudaDeviceSynchronize();
    return 0;
}
