// hello BLOCKS THREADS: each warp of each block prints one line and nothing else is printed. Of 3 blocks of 80 threads the
// last line is
//
//     block 2, warp 2: 16 threads

#include <cstdio>
#include <cstdlib>

__global__ void hello()
{
    // 1. Which warp of its block is this thread in, and which lane of it?

    // 2. How many threads does the warp have? The last one of a block need not be full.

    // 3. One thread for each warp prints the line.
}

int main(int argc, char** argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: hello BLOCKS THREADS\n");
        return 2;
    }
    const int blocks = atoi(argv[1]), threads = atoi(argv[2]);

    // 4. Launch so many blocks of so many threads.

    // 5. What has to happen before the program may end?
    return 0;
}
