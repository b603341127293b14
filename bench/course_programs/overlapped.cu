// Days 13, 19, 30 and 40: a program that hands over its work in streams, from its first asynchronous copy to the end of
// its wait for the device, by the host's clock. The arguments are the program's, and name the figure behind NAME.

#include "clock.h"
#include <cuda_runtime.h>
#include <string>

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
    std::string name = std::string(NAME) + "." + argv[1];
    for (int i = 2; i < argc; ++i)
        name += std::string("_") + argv[i];
    figure(name.c_str(), median_us([&] {
        if (worked(argc, argv)) exit(1);
        return took;
    }));
}
