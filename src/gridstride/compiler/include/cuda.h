// The driver API is host code, which NVRTC refuses; kernels need its version and the tensor map that TMA reads.
#pragma once
#include <cuda_runtime.h>
#include <stdint.h>
#ifndef CUDA_VERSION
#define CUDA_VERSION (__CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10)
#endif
typedef unsigned int cuuint32_t;
typedef unsigned long long cuuint64_t;
typedef struct CUtensorMap_st {
    alignas(64) cuuint64_t opaque[16];
} CUtensorMap;
