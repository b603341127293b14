// hello BLOCKS THREADS: every thread prints two lines.

#include <cstdio>
#include <cstdlib>

__global__ void hello()
{
    const int b = blockIdx.x, t = threadIdx.x;
    printf("block %d, thread %d: one\n", b, t);
    printf("block %d, thread %d: two\n", b, t);
}

int main(int argc, char** argv)
{
    if (argc != 3) return 2;
    const int blocks = atoi(argv[1]), threads = atoi(argv[2]);

    hello<<<blocks, threads>>>();
    cudaDeviceSynchronize();
    printf("the host is done\n");
    return 0;
}
