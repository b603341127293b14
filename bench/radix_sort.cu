// library N BITS HOW: sorts N keys of BITS bits. HOW is 4 or 8, the bytes of
// a key, with CUB; or thrust, for keys of 4 bytes.

#include <cub/device/device_radix_sort.cuh>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                  \
    do {                                                             \
        const cudaError_t code = (call);                             \
        if (code != cudaSuccess) {                                   \
            fprintf(stderr, "%s, line %d: %s\n", #call, __LINE__,    \
                    cudaGetErrorString(code));                       \
            exit(1);                                                 \
        }                                                            \
    } while (0)

template <class Key>
void sort(const Key* x, Key* y, int n, int bits)
{
    void* room = nullptr;
    size_t bytes = 0;
    CHECK(cub::DeviceRadixSort::SortKeys(room, bytes, x, y, n, 0, bits));
    CHECK(cudaMalloc(&room, bytes));
    CHECK(cub::DeviceRadixSort::SortKeys(room, bytes, x, y, n, 0, bits));
    CHECK(cudaFree(room));
}

template <class Key>
int run(int n, int bits, bool by_thrust)
{
    std::vector<Key> keys(n);
    Key state = 1;
    for (Key& key : keys) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        key = bits < 8 * (int)sizeof(Key) ? (state >> 7) % (Key(1) << bits)
                                          : state;
    }
    Key *x, *y;
    CHECK(cudaMalloc(&x, n * sizeof(Key)));
    CHECK(cudaMalloc(&y, n * sizeof(Key)));
    CHECK(cudaMemcpy(x, keys.data(), n * sizeof(Key),
                     cudaMemcpyHostToDevice));
    if (by_thrust)
        thrust::sort(thrust::device, x, x + n);
    else
        sort(x, y, n, bits);
    CHECK(cudaMemcpy(keys.data(), by_thrust ? x : y,
                     n * sizeof(Key), cudaMemcpyDeviceToHost));
    int falls = 0;
    for (int i = 1; i < n; ++i)
        falls += keys[i] < keys[i - 1];
    printf("%d keys, %d of them smaller than the one before\n", n, falls);
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    return 0;
}

int main(int argc, char** argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: library N BITS 4|8|thrust\n");
        return 2;
    }
    const int n = atoi(argv[1]), bits = atoi(argv[2]);
    const bool by_thrust = !strcmp(argv[3], "thrust");
    return atoi(argv[3]) == 8 ? run<unsigned long long>(n, bits, false)
                              : run<unsigned>(n, bits, by_thrust);
}
