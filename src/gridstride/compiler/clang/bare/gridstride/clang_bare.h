// CUDA C++ without any of CUDA's headers and without libdevice: qualifiers, vector types, built-in variables, barriers,
// shuffles, atomics, and the math that PTX has as instructions of IEEE accuracy. The rest is clang's own headers.
#pragma once
#define CUDA_VERSION 12000
#include <__clang_cuda_math_forward_declares.h>
#include <cmath>
#include <cstdlib>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __align__(n) __attribute__((aligned(n)))
#define __restrict__ __restrict
#define __grid_constant__
#define __CUDACC__

#define GRIDSTRIDE_HOST_DEVICE __host__ __device__ __forceinline__
#define GRIDSTRIDE_VECTORS(name, type, align1, align2, align4)                                                         \
    struct name##1 { type x; };                                                                                        \
    struct __align__(align2) name##2 { type x, y; };                                                                   \
    struct name##3 { type x, y, z; };                                                                                  \
    struct __align__(align4) name##4 { type x, y, z, w; };                                                             \
    GRIDSTRIDE_HOST_DEVICE name##1 make_##name##1(type x) { return {x}; }                                              \
    GRIDSTRIDE_HOST_DEVICE name##2 make_##name##2(type x, type y) { return {x, y}; }                                   \
    GRIDSTRIDE_HOST_DEVICE name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }                        \
    GRIDSTRIDE_HOST_DEVICE name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
GRIDSTRIDE_VECTORS(char, signed char, 1, 2, 4)
GRIDSTRIDE_VECTORS(uchar, unsigned char, 1, 2, 4)
GRIDSTRIDE_VECTORS(short, short, 2, 4, 8)
GRIDSTRIDE_VECTORS(ushort, unsigned short, 2, 4, 8)
GRIDSTRIDE_VECTORS(int, int, 4, 8, 16)
GRIDSTRIDE_VECTORS(uint, unsigned int, 4, 8, 16)
GRIDSTRIDE_VECTORS(long, long, 8, 16, 16)
GRIDSTRIDE_VECTORS(ulong, unsigned long, 8, 16, 16)
GRIDSTRIDE_VECTORS(longlong, long long, 8, 16, 16)
GRIDSTRIDE_VECTORS(ulonglong, unsigned long long, 8, 16, 16)
GRIDSTRIDE_VECTORS(float, float, 4, 8, 16)
GRIDSTRIDE_VECTORS(double, double, 8, 16, 16)
struct dim3 {
    unsigned int x, y, z;
    __host__ __device__ constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
    __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    __host__ __device__ constexpr operator uint3() const { return {x, y, z}; }
};
struct CUstream_st;
typedef CUstream_st* cudaStream_t;
// What clang calls for kernel<<<…>>> in host code, which is read and left out.
extern "C" int cudaConfigureCall(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0);
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, void* stream = 0);
extern "C" int cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** values, size_t shared, cudaStream_t);

#include <__clang_cuda_builtin_vars.h>
#include <__clang_cuda_libdevice_declares.h>
#include <__clang_cuda_device_functions.h>
#include <__clang_cuda_math.h>
#include <__clang_cuda_cmath.h>

#define GRIDSTRIDE_VARIABLE(name)                                                                                      \
    __device__ inline __cuda_builtin_##name##_t::operator dim3() const { return dim3(x, y, z); }                       \
    __device__ inline __cuda_builtin_##name##_t::operator uint3() const { return {x, y, z}; }
GRIDSTRIDE_VARIABLE(threadIdx)
GRIDSTRIDE_VARIABLE(blockIdx)
GRIDSTRIDE_VARIABLE(blockDim)
GRIDSTRIDE_VARIABLE(gridDim)

// libdevice's functions that are single instructions; of the others (sinf, expf, …) a call has no definition.
#define GRIDSTRIDE_MATH(name, type, parameters, value)                                                                 \
    extern "C" __device__ __attribute__((weak)) type __nv_##name parameters { return value; }
GRIDSTRIDE_MATH(sqrtf, float, (float x), __nvvm_sqrt_rn_f(x))
GRIDSTRIDE_MATH(sqrt, double, (double x), __nvvm_sqrt_rn_d(x))
GRIDSTRIDE_MATH(fsqrt_rn, float, (float x), __nvvm_sqrt_rn_f(x))
GRIDSTRIDE_MATH(rsqrtf, float, (float x), __nvvm_rsqrt_approx_f(x))
GRIDSTRIDE_MATH(fabsf, float, (float x), __builtin_fabsf(x))
GRIDSTRIDE_MATH(fabs, double, (double x), __builtin_fabs(x))
GRIDSTRIDE_MATH(fmaxf, float, (float x, float y), __nvvm_fmax_f(x, y))
GRIDSTRIDE_MATH(fminf, float, (float x, float y), __nvvm_fmin_f(x, y))
GRIDSTRIDE_MATH(fmax, double, (double x, double y), __nvvm_fmax_d(x, y))
GRIDSTRIDE_MATH(fmin, double, (double x, double y), __nvvm_fmin_d(x, y))
GRIDSTRIDE_MATH(fmaf, float, (float x, float y, float z), __nvvm_fma_rn_f(x, y, z))
GRIDSTRIDE_MATH(fmaf_rn, float, (float x, float y, float z), __nvvm_fma_rn_f(x, y, z))
GRIDSTRIDE_MATH(fma, double, (double x, double y, double z), __nvvm_fma_rn_d(x, y, z))
GRIDSTRIDE_MATH(floorf, float, (float x), __nvvm_floor_f(x))
GRIDSTRIDE_MATH(floor, double, (double x), __nvvm_floor_d(x))
GRIDSTRIDE_MATH(ceilf, float, (float x), __nvvm_ceil_f(x))
GRIDSTRIDE_MATH(ceil, double, (double x), __nvvm_ceil_d(x))
GRIDSTRIDE_MATH(truncf, float, (float x), __nvvm_trunc_f(x))
GRIDSTRIDE_MATH(rintf, float, (float x), __builtin_rintf(x))
GRIDSTRIDE_MATH(abs, int, (int x), x < 0 ? -x : x)
GRIDSTRIDE_MATH(min, int, (int x, int y), x < y ? x : y)
GRIDSTRIDE_MATH(max, int, (int x, int y), x > y ? x : y)
GRIDSTRIDE_MATH(umin, unsigned, (unsigned x, unsigned y), x < y ? x : y)
GRIDSTRIDE_MATH(umax, unsigned, (unsigned x, unsigned y), x > y ? x : y)
GRIDSTRIDE_MATH(umulhi, unsigned, (unsigned x, unsigned y), (unsigned)((unsigned long long)x * y >> 32))
GRIDSTRIDE_MATH(finitef, int, (float x), __builtin_isfinite(x))
GRIDSTRIDE_MATH(popc, int, (int x), __builtin_popcount(x))
GRIDSTRIDE_MATH(clz, int, (int x), x ? __builtin_clz(x) : 32)
GRIDSTRIDE_MATH(ffs, int, (int x), __builtin_ffs(x))
GRIDSTRIDE_MATH(float_as_int, int, (float x), __builtin_bit_cast(int, x))
GRIDSTRIDE_MATH(float_as_uint, unsigned, (float x), __builtin_bit_cast(unsigned, x))
GRIDSTRIDE_MATH(int_as_float, float, (int x), __builtin_bit_cast(float, x))
GRIDSTRIDE_MATH(uint_as_float, float, (unsigned x), __builtin_bit_cast(float, x))

#define GRIDSTRIDE_ATOMIC(name, type, function)                                                                        \
    __device__ __forceinline__ type atomic##name(type* address, type value) { return function(address, value); }
GRIDSTRIDE_ATOMIC(Add, int, __iAtomicAdd)
GRIDSTRIDE_ATOMIC(Add, unsigned, __uAtomicAdd)
GRIDSTRIDE_ATOMIC(Add, unsigned long long, __ullAtomicAdd)
GRIDSTRIDE_ATOMIC(Add, float, __fAtomicAdd)
GRIDSTRIDE_ATOMIC(Add, double, __dAtomicAdd)
GRIDSTRIDE_ATOMIC(Exch, int, __iAtomicExch)
GRIDSTRIDE_ATOMIC(Exch, unsigned, __uAtomicExch)
GRIDSTRIDE_ATOMIC(Exch, unsigned long long, __ullAtomicExch)
GRIDSTRIDE_ATOMIC(Exch, float, __fAtomicExch)
GRIDSTRIDE_ATOMIC(Min, int, __iAtomicMin)
GRIDSTRIDE_ATOMIC(Min, unsigned, __uAtomicMin)
GRIDSTRIDE_ATOMIC(Max, int, __iAtomicMax)
GRIDSTRIDE_ATOMIC(Max, unsigned, __uAtomicMax)
GRIDSTRIDE_ATOMIC(And, int, __iAtomicAnd)
GRIDSTRIDE_ATOMIC(And, unsigned, __uAtomicAnd)
GRIDSTRIDE_ATOMIC(Or, int, __iAtomicOr)
GRIDSTRIDE_ATOMIC(Or, unsigned, __uAtomicOr)
GRIDSTRIDE_ATOMIC(Xor, int, __iAtomicXor)
GRIDSTRIDE_ATOMIC(Xor, unsigned, __uAtomicXor)
#define GRIDSTRIDE_SWAP(type, function)                                                                                \
    __device__ __forceinline__ type atomicCAS(type* address, type old, type value) {                                   \
        return function(address, old, value);                                                                          \
    }
GRIDSTRIDE_SWAP(int, __iAtomicCAS)
GRIDSTRIDE_SWAP(unsigned, __uAtomicCAS)
GRIDSTRIDE_SWAP(unsigned long long, __ullAtomicCAS)

__device__ __forceinline__ void __nanosleep(unsigned ns) { asm volatile("nanosleep.u32 %0;" ::"r"(ns)); }

extern "C" {
__device__ int vprintf(const char*, const char*);
__device__ int printf(const char*, ...);
__device__ void __assertfail(const char* said, const char* file, unsigned line, const char* function, size_t width);
__device__ static inline void __assert_fail(const char* said, const char* file, unsigned line, const char* function) {
    __assertfail(said, file, line, function, 1);
}
}

typedef unsigned int cuuint32_t;
#define GRIDSTRIDE_SPACE(name, number, holds)                                                                          \
    __device__ __forceinline__ size_t __cvta_generic_to_##name(const void* address) {                                  \
        return (size_t)(const void __attribute__((address_space(number)))*)address;                                    \
    }                                                                                                                  \
    __device__ __forceinline__ unsigned holds(const void* address) { return __nvvm_isspacep_##name(address); }
GRIDSTRIDE_SPACE(global, 1, __isGlobal)
GRIDSTRIDE_SPACE(shared, 3, __isShared)
GRIDSTRIDE_SPACE(local, 5, __isLocal)
#include <__clang_cuda_intrinsics.h>
