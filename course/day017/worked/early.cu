// A kernel that launches another one and wants its result: at once, and in
// a tail launch.

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                  \
    do {                                                             \
        const cudaError_t code = (call);                             \
        if (code != cudaSuccess) {                                   \
            fprintf(stderr, "%s, line %d: %s\n", #call, __LINE__,    \
                    cudaGetErrorString(code));                       \
            exit(1);                                                 \
        }                                                            \
    } while (0)

__global__ void child(int* x)
{
    x[threadIdx.x] = threadIdx.x;
}

__global__ void look(const int* x)
{
    printf("tail launch: x[5] is %d\n", x[5]);
}

__global__ void parent(int* x)
{
    child<<<1, 32>>>(x);
    look<<<1, 1, 0, cudaStreamTailLaunch>>>(x);
    printf("parent: x[5] is %d\n", x[5]);
}

int main()
{
    int* x;
    CHECK(cudaMalloc(&x, 32 * sizeof(int)));
    CHECK(cudaMemset(x, 0, 32 * sizeof(int)));
    parent<<<1, 1>>>(x);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(x));
    return 0;
}
