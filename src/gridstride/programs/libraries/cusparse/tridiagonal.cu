// Tridiagonal systems: one thread goes down each, as LAPACK's gtsv does, with or without exchanges of rows.
#include "kernels.h"

namespace gs_sparse {
namespace {

// The matrix as it is given, and its factors: multipliers, U's diagonals, and which rows changed places.
template <class T>
struct Tridiagonal {
  long long m;
  const T *lower, *diagonal, *upper;
  long long stride;  // from one system's diagonals to the next one's
  bool pivots;
  T* factors;  // four arrays of m for each system
  int* swapped;
  __device__ T* part(long long system, int number) const { return factors + (system * 4 + number) * m; }
  __device__ int* swaps(long long system) const { return swapped + system * m; }
};

template <class T>
struct Factorize {
  Tridiagonal<T> t;
  __device__ void operator()(long long system) const {
    T *l = t.part(system, 0), *d = t.part(system, 1), *u = t.part(system, 2), *u2 = t.part(system, 3);
    int* swaps = t.swaps(system);
    const long long from = system * t.stride;
    for (long long i = 0; i < t.m; ++i) {
      d[i] = t.diagonal[from + i];
      u[i] = i + 1 < t.m ? t.upper[from + i] : T{};  // the last one is not the matrix's
      u2[i] = T{};
    }
    for (long long i = 0; i + 1 < t.m; ++i) {
      const T below = t.lower[from + i + 1];
      swaps[i] = t.pivots && size_of(below) > size_of(d[i]);
      if (!swaps[i]) {
        l[i] = below / d[i];
        d[i + 1] = d[i + 1] - l[i] * u[i];
        continue;
      }
      l[i] = d[i] / below;
      d[i] = below;
      const T next = d[i + 1], over = u[i];
      u[i] = next;
      u2[i] = u[i + 1];
      d[i + 1] = over - l[i] * next;
      u[i + 1] = T{} - l[i] * u[i + 1];
    }
  }
};

template <class T>
struct Substitute {
  Tridiagonal<T> t;
  T* x;
  long long next;  // from one right side to the next one
  bool own;        // each has a matrix of its own
  __device__ void operator()(long long number) const {
    const long long system = own ? number : 0;
    const T *l = t.part(system, 0), *d = t.part(system, 1), *u = t.part(system, 2), *u2 = t.part(system, 3);
    const int* swaps = t.swaps(system);
    T* b = x + number * next;
    for (long long i = 0; i + 1 < t.m; ++i) {
      if (swaps[i]) {
        const T kept = b[i];
        b[i] = b[i + 1];
        b[i + 1] = kept;
      }
      b[i + 1] = b[i + 1] - l[i] * b[i];
    }
    for (long long i = t.m - 1; i >= 0; --i) {
      T sum = b[i];
      if (i + 1 < t.m) sum = sum - u[i] * b[i + 1];
      if (i + 2 < t.m) sum = sum - u2[i] * b[i + 2];
      b[i] = sum / d[i];
    }
  }
};

cusparseStatus_t check(cusparseHandle_t handle, int m, int n, const void* lower, const void* diagonal,
                       const void* upper, const void* b, int step) {
  LIVE(handle);
  VALID(m >= 3 && n >= 0 && step >= m);
  VALID(n == 0 || (lower != nullptr && diagonal != nullptr && upper != nullptr && b != nullptr));
  return CUSPARSE_STATUS_SUCCESS;
}

template <class T>
Tridiagonal<T> in_memory(int m, long long systems, void* buffer, size_t* bytes = nullptr) {
  Pieces pieces{static_cast<char*>(buffer)};
  Tridiagonal<T> t{};
  t.m = m;
  t.factors = pieces.take<T>(systems * 4 * m);
  t.swapped = pieces.take<int>(systems * m);
  if (bytes != nullptr) *bytes = pieces.used;
  return t;
}

template <class T>
cusparseStatus_t size_in(int m, long long systems, size_t* bytes) {
  VALID(bytes != nullptr);
  in_memory<T>(m, systems, nullptr, bytes);
  return CUSPARSE_STATUS_SUCCESS;
}

template <class T>
cusparseStatus_t solve(cusparseHandle_t handle, int m, int n, const void* lower, const void* diagonal,
                       const void* upper, void* b, int step, bool own, bool pivots, void* buffer) {
  if (n == 0) return CUSPARSE_STATUS_SUCCESS;
  VALID(buffer != nullptr);
  Tridiagonal<T> t = in_memory<T>(m, own ? n : 1, buffer);
  t.lower = static_cast<const T*>(lower), t.diagonal = static_cast<const T*>(diagonal);
  t.upper = static_cast<const T*>(upper), t.stride = own ? step : 0, t.pivots = pivots;
  DONE(for_each(handle, own ? n : 1, Factorize<T>{t}));
  return for_each(handle, n, Substitute<T>{t, static_cast<T*>(b), step, own});
}

}  // namespace
}  // namespace gs_sparse

using namespace gs_sparse;

extern "C" {

#define SOLVE(P, V, Given, T, pivots) \
  cusparseStatus_t cusparse##P##gtsv2##V##_bufferSizeExt(cusparseHandle_t handle, int m, int n, const Given* lower, \
                                                         const Given* diagonal, const Given* upper, const Given* b, \
                                                         int ldb, size_t* bytes) { \
    DONE(check(handle, m, n, lower, diagonal, upper, b, ldb)); \
    return size_in<T>(m, 1, bytes); \
  } \
  cusparseStatus_t cusparse##P##gtsv2##V(cusparseHandle_t handle, int m, int n, const Given* lower, \
                                         const Given* diagonal, const Given* upper, Given* b, int ldb, \
                                         void* buffer) { \
    DONE(check(handle, m, n, lower, diagonal, upper, b, ldb)); \
    return solve<T>(handle, m, n, lower, diagonal, upper, b, ldb, false, pivots, buffer); \
  }
#define TYPE(P, Given, T) \
  SOLVE(P, , Given, T, true) \
  SOLVE(P, _nopivot, Given, T, false) \
  cusparseStatus_t cusparse##P##gtsv2StridedBatch_bufferSizeExt(cusparseHandle_t handle, int m, const Given* lower, \
                                                                const Given* diagonal, const Given* upper, \
                                                                const Given* x, int count, int stride, \
                                                                size_t* bytes) { \
    DONE(check(handle, m, count, lower, diagonal, upper, x, stride)); \
    return size_in<T>(m, count, bytes); \
  } \
  cusparseStatus_t cusparse##P##gtsv2StridedBatch(cusparseHandle_t handle, int m, const Given* lower, \
                                                  const Given* diagonal, const Given* upper, Given* x, int count, \
                                                  int stride, void* buffer) { \
    DONE(check(handle, m, count, lower, diagonal, upper, x, stride)); \
    return solve<T>(handle, m, count, lower, diagonal, upper, x, stride, true, false, buffer); \
  }
TYPE(S, float, float)
TYPE(D, double, double)
TYPE(C, cuComplex, Complex<float>)
TYPE(Z, cuDoubleComplex, Complex<double>)

}  // extern "C"
