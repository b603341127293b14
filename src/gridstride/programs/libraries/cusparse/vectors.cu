// A sparse and a dense vector.
#include "kernels.h"

namespace gs_sparse {
namespace {

template <class T>
struct Pair {
  Indices at;
  T *x, *y;
};

template <class T>
Pair<T> pair(cusparseConstSpVecDescr_t x, cusparseConstDnVecDescr_t y) {
  return {indices(x->indices, x->index, x->base), static_cast<T*>(x->values), static_cast<T*>(y->values)};
}

template <class T>
struct Gathered {
  Pair<T> p;
  __device__ void operator()(long long i) const { p.x[i] = p.y[p.at[i]]; }
};

template <class T>
struct Scattered {
  Pair<T> p;
  __device__ void operator()(long long i) const { p.y[p.at[i]] = p.x[i]; }
};

template <class T>
struct Scaled {
  T* y;
  Scalar<T> beta;
  __device__ void operator()(long long i) const { put(y + i, T{}, beta.get()); }
};

template <class T>
struct Added {
  Pair<T> p;
  Scalar<T> alpha;
  __device__ void operator()(long long i) const {
    T& y = p.y[p.at[i]];
    y = y + alpha.get() * p.x[i];
  }
};

template <class T>
struct Rotated {
  Pair<T> p;
  Scalar<T> c, s;
  __device__ void operator()(long long i) const {
    const T x = p.x[i], y = p.y[p.at[i]];
    p.x[i] = c.get() * x + s.get() * y;
    p.y[p.at[i]] = c.get() * y - s.get() * x;
  }
};

template <class T>
__global__ void __launch_bounds__(THREADS) dot(Pair<T> p, long long nnz, bool conjugated, T* result) {
  __shared__ T parts[THREADS];
  T sum{};
  for (long long i = threadIdx.x; i < nnz; i += THREADS)
    sum = sum + (conjugated ? conjugate(p.x[i]) : p.x[i]) * p.y[p.at[i]];
  parts[threadIdx.x] = sum;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x] = sum = sum + parts[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *result = sum;
}

cusparseStatus_t check(const char* function, cusparseHandle_t handle, cusparseConstSpVecDescr_t x,
                       cusparseConstDnVecDescr_t y) {
  LIVE(handle);
  LIVE(x);
  LIVE(y);
  VALID(x->size == y->size);
  return x->type == y->type ? CUSPARSE_STATUS_SUCCESS : not_here(function, "vectors of different types");
}

}  // namespace
}  // namespace gs_sparse

using namespace gs_sparse;

extern "C" {

cusparseStatus_t cusparseAxpby(cusparseHandle_t handle, const void* alpha, cusparseConstSpVecDescr_t x,
                               const void* beta, cusparseDnVecDescr_t y) {
  DONE(check("cusparseAxpby", handle, x, y));
  VALID(alpha != nullptr && beta != nullptr);
  return for_type("cusparseAxpby", x->type, [&](auto type) {
    using T = decltype(type);
    DONE(for_each(handle, y->size, Scaled<T>{static_cast<T*>(y->values), scalar<T>(handle, beta)}));
    return for_each(handle, x->nnz, Added<T>{pair<T>(x, y), scalar<T>(handle, alpha)});
  });
}

cusparseStatus_t cusparseGather(cusparseHandle_t handle, cusparseConstDnVecDescr_t y, cusparseSpVecDescr_t x) {
  DONE(check("cusparseGather", handle, x, y));
  return for_type("cusparseGather", x->type, [&](auto type) {
    return for_each(handle, x->nnz, Gathered<decltype(type)>{pair<decltype(type)>(x, y)});
  });
}

cusparseStatus_t cusparseScatter(cusparseHandle_t handle, cusparseConstSpVecDescr_t x, cusparseDnVecDescr_t y) {
  DONE(check("cusparseScatter", handle, x, y));
  return for_type("cusparseScatter", x->type, [&](auto type) {
    return for_each(handle, x->nnz, Scattered<decltype(type)>{pair<decltype(type)>(x, y)});
  });
}

cusparseStatus_t cusparseRot(cusparseHandle_t handle, const void* c, const void* s, cusparseSpVecDescr_t x,
                             cusparseDnVecDescr_t y) {
  DONE(check("cusparseRot", handle, x, y));
  VALID(c != nullptr && s != nullptr);
  if (x->type != CUDA_R_32F && x->type != CUDA_R_64F) return not_here("cusparseRot", "values other than reals");
  return for_type("cusparseRot", x->type, [&](auto type) {
    using T = decltype(type);
    return for_each(handle, x->nnz, Rotated<T>{pair<T>(x, y), scalar<T>(handle, c), scalar<T>(handle, s)});
  });
}

cusparseStatus_t cusparseSpVV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op, cusparseConstSpVecDescr_t x,
                                         cusparseConstDnVecDescr_t y, const void*, cudaDataType, size_t* bytes) {
  DONE(check("cusparseSpVV", handle, x, y));
  VALID(is_op(op) && bytes != nullptr);
  *bytes = sizeof(Complex<double>);
  return CUSPARSE_STATUS_SUCCESS;
}

// With a result on the host the call waits for it; the buffer holds it until then.
cusparseStatus_t cusparseSpVV(cusparseHandle_t handle, cusparseOperation_t op, cusparseConstSpVecDescr_t x,
                              cusparseConstDnVecDescr_t y, void* result, cudaDataType compute, void* buffer) {
  DONE(check("cusparseSpVV", handle, x, y));
  const bool on_host = handle->pointers == CUSPARSE_POINTER_MODE_HOST;
  VALID(is_op(op) && result != nullptr && (buffer != nullptr || !on_host));
  if (compute != x->type) return not_here("cusparseSpVV", "vectors and sums of different types");
  DONE(for_type("cusparseSpVV", compute, [&](auto type) {
    using T = decltype(type);
    dot<<<1, THREADS, 0, handle->stream>>>(pair<T>(x, y), x->nnz, op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE,
                                           static_cast<T*>(on_host ? buffer : result));
    return launched();
  }));
  return on_host ? read_back(handle, buffer, result, bytes_of(compute)) : CUSPARSE_STATUS_SUCCESS;
}

}  // extern "C"
