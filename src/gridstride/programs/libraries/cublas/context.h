// What the files of our cuBLAS share: the handle, scalars on either side, and what a launch's error becomes.
#pragma once
#include "../objects.h"
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

// Memory of reductions, one for each stream: the program may give work to several, which nothing orders. Allocated by
// a stream's first reduction, so that a program of products alone allocates nothing.
struct cublasScratch {
  cudaStream_t stream;
  void* memory;
  cublasScratch* next;
};

struct cublasContext {
  unsigned alive;
  cudaStream_t stream;
  cublasPointerMode_t pointers;
  cublasMath_t math;
  cublasAtomicsMode_t atomics;
  int multiprocessors;
  cublasScratch* scratch;
};

namespace gs_blas {

constexpr size_t SCRATCH_BYTES = 16 << 10;

bool alive(cublasHandle_t handle);
cublasStatus_t scratch(cublasHandle_t handle, void** memory);
// Of the launch just made.
cublasStatus_t launched();

// alpha or beta: its value, or where it lies in device memory by the time the kernel runs.
template <class T>
struct Scalar {
  T value;
  const T* at;
  __device__ T get() const { return at ? *at : value; }
};

template <class T, class Given>
Scalar<T> scalar(cublasHandle_t handle, const Given* given) {
  static_assert(sizeof(T) == sizeof(Given));
  if (handle->pointers == CUBLAS_POINTER_MODE_DEVICE) return {T(0), reinterpret_cast<const T*>(given)};
  return {*reinterpret_cast<const T*>(given), nullptr};
}

// A vector of BLAS: with a negative step its first element is the last in memory.
template <class T>
struct Vector {
  T* first;
  long long step;
  __device__ T& operator[](long long i) const { return first[i * step]; }
};

template <class T>
Vector<T> vector(T* x, int n, int step) {
  return {step < 0 ? x + (1LL - n) * step : x, step};
}

// An element as what is summed, and back.
template <class Sum, class T>
__device__ Sum widen(T value) { return Sum(value); }
template <>
__device__ inline float widen<float>(__half value) { return __half2float(value); }
template <>
__device__ inline float widen<float>(__nv_bfloat16 value) { return __bfloat162float(value); }
template <class T, class Sum>
__device__ T narrow(Sum value) { return T(value); }
template <>
__device__ inline __half narrow<__half>(float value) { return __float2half_rn(value); }
template <>
__device__ inline __nv_bfloat16 narrow<__nv_bfloat16>(float value) { return __float2bfloat16_rn(value); }

}  // namespace gs_blas

#define NEED(condition, status) \
  do { \
    if (!(condition)) return status; \
  } while (0)
// In functions of the interface, and without effect in what they share.
#define TOLD() NEED(!gs_library_call(__func__, "cublas"), CUBLAS_STATUS_INTERNAL_ERROR)
#define HANDLE(handle) \
  TOLD(); \
  NEED(gs_blas::alive(handle), CUBLAS_STATUS_NOT_INITIALIZED)
#define VALID(condition) NEED(condition, CUBLAS_STATUS_INVALID_VALUE)
