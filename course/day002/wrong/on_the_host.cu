// On the host. The lines are known before anything is launched, and two loops print them in a nicer order. Then no thread of
// the GPU has said anything, and it is the GPU's threads that were asked.
//
// expect: not_by_kernel

#include <cstdio>
#include <cstdlib>

__global__ void hello()
{
}

int main(int argc, char** argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: hello BLOCKS THREADS\n");
        return 2;
    }
    const int blocks = atoi(argv[1]), threads = atoi(argv[2]);

    hello<<<blocks, threads>>>();
    for (int block = 0; block < blocks; ++block)
        for (int first = 0; first < threads; first += 32)
            printf("block %d, warp %d: %d threads\n", block, first / 32,  // <- here
                   threads - first < 32 ? threads - first : 32);
    cudaDeviceSynchronize();
    return 0;
}
