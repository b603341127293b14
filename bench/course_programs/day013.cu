// Day 13: the program in pieces, from its first copy to the end of its wait, by the host's clock. Built once with
// pieces.cu and once with pageable.cu; the arguments are the program's.

#include "clock.h"
#include <cuda_runtime.h>

double began, took;

inline void begin()
{
    if (began == 0) began = now_us();
}

inline cudaError_t ended(cudaError_t code)
{
    took = now_us() - began;
    began = 0;
    return code;
}

#define cudaMemcpyAsync(...) (begin(), cudaMemcpyAsync(__VA_ARGS__))
#define cudaDeviceSynchronize() ended(cudaDeviceSynchronize())
#define printf(...) ((void)0)
#define main worked
#include PROGRAM
#undef main
#undef printf

int main(int argc, char** argv)
{
    char name[64];
    snprintf(name, sizeof name, "%s.pieces_%s.streams_%s", NAME, argv[1], argv[2]);
    figure(name, median_us([&] {
        if (worked(argc, argv)) exit(1);
        return took;
    }));
}
