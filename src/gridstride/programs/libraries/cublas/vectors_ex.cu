// Level 1 with types that the call names: halves and bfloat16 are summed in float, and everything else in its own type.
#include "reductions.h"

namespace gs_blas {

struct Kind {
  cudaDataType type, sums;
  bool operator==(const Kind& other) const { return type == other.type && sums == other.sums; }
};

// Calls `body` with an element and a sum of the types; no other types are there.
template <class Body>
cublasStatus_t of_kind(Kind kind, Body body) {
  if (kind == Kind{CUDA_R_16F, CUDA_R_32F}) return body(__half{}, 0.0f);
  if (kind == Kind{CUDA_R_16BF, CUDA_R_32F}) return body(__nv_bfloat16{}, 0.0f);
  if (kind == Kind{CUDA_R_32F, CUDA_R_32F}) return body(0.0f, 0.0f);
  if (kind == Kind{CUDA_R_64F, CUDA_R_64F}) return body(0.0, 0.0);
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t dot(cublasHandle_t handle, int n, Kind kind, const void* x, int incx, const void* y, int incy,
                   void* result) {
  return of_kind(kind, [&](auto element, auto sum) {
    using T = decltype(element);
    Dot<T, decltype(sum)> op{vector(static_cast<const T*>(x), n, incx), vector(static_cast<const T*>(y), n, incy)};
    return reduce(handle, n, op, static_cast<T*>(result));
  });
}

}  // namespace gs_blas

extern "C" {

#define DOT(name) \
  cublasStatus_t cublas##name##Ex(cublasHandle_t handle, int n, const void* x, cudaDataType type_x, int incx, \
                                  const void* y, cudaDataType type_y, int incy, void* result, \
                                  cudaDataType type_result, cudaDataType sums) { \
    HANDLE(handle); \
    NEED(type_x == type_y && type_x == type_result, CUBLAS_STATUS_NOT_SUPPORTED); \
    return gs_blas::dot(handle, n, {type_x, sums}, x, incx, y, incy, result); \
  }
DOT(Dot)
DOT(Dotc)

cublasStatus_t cublasNrm2Ex(cublasHandle_t handle, int n, const void* x, cudaDataType type_x, int incx, void* result,
                            cudaDataType type_result, cudaDataType sums) {
  HANDLE(handle);
  NEED(type_x == type_result, CUBLAS_STATUS_NOT_SUPPORTED);
  using namespace gs_blas;
  return of_kind({type_x, sums}, [&](auto element, auto sum) {
    using T = decltype(element);
    Norm<T, decltype(sum)> op{vector(static_cast<const T*>(x), n, incx)};
    return reduce(handle, incx > 0 ? n : 0, op, static_cast<T*>(result));
  });
}

cublasStatus_t cublasAxpyEx(cublasHandle_t handle, int n, const void* alpha, cudaDataType type_alpha, const void* x,
                            cudaDataType type_x, int incx, void* y, cudaDataType type_y, int incy, cudaDataType sums) {
  HANDLE(handle);
  VALID(alpha != nullptr);
  NEED(type_alpha == sums && type_x == type_y, CUBLAS_STATUS_NOT_SUPPORTED);
  using namespace gs_blas;
  return of_kind({type_x, sums}, [&](auto element, auto sum) {
    using T = decltype(element);
    using Sum = decltype(sum);
    return for_each(handle, n, Axpy<T, Sum>{scalar<Sum>(handle, static_cast<const Sum*>(alpha)),
                                            vector(static_cast<const T*>(x), n, incx),
                                            vector(static_cast<T*>(y), n, incy)});
  });
}

cublasStatus_t cublasScalEx(cublasHandle_t handle, int n, const void* alpha, cudaDataType type_alpha, void* x,
                            cudaDataType type_x, int incx, cudaDataType sums) {
  HANDLE(handle);
  VALID(alpha != nullptr);
  NEED(type_alpha == sums, CUBLAS_STATUS_NOT_SUPPORTED);
  using namespace gs_blas;
  return of_kind({type_x, sums}, [&](auto element, auto sum) {
    using T = decltype(element);
    using Sum = decltype(sum);
    return for_each(handle, n, Scal<T, Sum>{scalar<Sum>(handle, static_cast<const Sum*>(alpha)),
                                            vector(static_cast<T*>(x), n, incx)});
  });
}

}  // extern "C"
