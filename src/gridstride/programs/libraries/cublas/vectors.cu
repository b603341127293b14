// Level 1 and level 2: what reads each element once.
#include "reductions.h"

namespace gs_blas {

template <class T>
struct Copy {
  Vector<const T> x;
  Vector<T> y;
  __device__ void operator()(long long i) const { y[i] = x[i]; }
};

template <class T>
struct Swap {
  Vector<T> x, y;
  __device__ void operator()(long long i) const {
    T kept = x[i];
    x[i] = y[i];
    y[i] = kept;
  }
};

// A += alpha x y^T
template <class T>
struct Ger {
  int m;
  Scalar<T> alpha;
  Vector<const T> x, y;
  T* a;
  long long lda;
  __device__ void operator()(long long i) const { a[i % m + i / m * lda] += alpha.get() * x[i % m] * y[i / m]; }
};

// C = alpha op(A) + beta op(B); an operand whose factor is 0 is not read.
template <class T>
struct Geam {
  int m;
  Scalar<T> alpha, beta;
  const T *a, *b;
  long long a_along, a_down, b_along, b_down;
  T* c;
  long long ldc;
  __device__ void operator()(long long i) const {
    long long row = i % m, column = i / m;
    T p = alpha.get(), q = beta.get();
    T sum = p == T(0) ? T(0) : p * a[row * a_along + column * a_down];
    c[row + column * ldc] = q == T(0) ? sum : sum + q * b[row * b_along + column * b_down];
  }
};

// -- reductions ------------------------------------------------------------------------------------------------------
template <class T>
struct Asum {
  using Carry = T;
  using Result = T;
  Vector<const T> x;
  __device__ static Carry none() { return T(0); }
  __device__ Carry of(long long i) const { return abs(x[i]); }
  __device__ static Carry join(Carry a, Carry b) { return a + b; }
  __device__ static Result result(Carry c) { return c; }
};

// The number, from 1, of the first element of largest (or smallest) magnitude.
template <class T, bool LARGEST>
struct Extreme {
  struct Carry {
    T size;
    int number;
  };
  using Result = int;
  Vector<const T> x;
  __device__ static Carry none() { return {T(0), 0}; }
  __device__ Carry of(long long i) const { return {abs(x[i]), int(i) + 1}; }
  __device__ static Carry join(Carry a, Carry b) {
    if (a.number == 0 || b.number == 0) return a.number == 0 ? b : a;
    if (a.size == b.size) return a.number < b.number ? a : b;
    return (LARGEST ? a.size > b.size : a.size < b.size) ? a : b;
  }
  __device__ static Result result(Carry c) { return c.number; }
};

// -- matrix and vector -----------------------------------------------------------------------------------------------
template <class T>
struct MatrixVector {
  int m, n;
  Scalar<T> alpha, beta;
  const T* a;
  long long lda;
  Vector<const T> x;
  Vector<T> y;
  __device__ void put(int i, T sum) const {
    sum *= alpha.get();
    y[i] = beta.get() == T(0) ? sum : sum + beta.get() * y[i];
  }
};

// y = alpha A x + beta y: a warp's lanes are 32 rows, so that they read down a column; eight warps share its columns.
template <class T>
__global__ void __launch_bounds__(THREADS) gemv_rows(MatrixVector<T> v) {
  constexpr int SLICES = THREADS / WARP;
  __shared__ T sums[SLICES][WARP];
  const int lane = threadIdx.x % WARP, slice = threadIdx.x / WARP, row = blockIdx.x * WARP + lane;
  T sum = 0;
  if (row < v.m && v.alpha.get() != T(0))
    for (int j = slice; j < v.n; j += SLICES) sum += v.a[row + j * v.lda] * v.x[j];
  sums[slice][lane] = sum;
  __syncthreads();
  if (slice != 0 || row >= v.m) return;
  for (int s = 1; s < SLICES; ++s) sum += sums[s][lane];
  v.put(row, sum);
}

// y = alpha A^T x + beta y: a warp goes down one column.
template <class T>
__global__ void __launch_bounds__(THREADS) gemv_columns(MatrixVector<T> v) {
  const int lane = threadIdx.x % WARP, column = blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP;
  if (column >= v.n) return;
  T sum = 0;
  if (v.alpha.get() != T(0))
    for (int i = lane; i < v.m; i += WARP) sum += v.a[i + column * v.lda] * v.x[i];
  for (int step = WARP / 2; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  if (lane == 0) v.put(column, sum);
}

template <class T>
cublasStatus_t gemv(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const T* alpha, const T* a, int lda,
                    const T* x, int incx, const T* beta, T* y, int incy) {
  HANDLE(handle);
  VALID(trans >= CUBLAS_OP_N && trans <= CUBLAS_OP_C && m >= 0 && n >= 0 && lda >= (m > 1 ? m : 1) && incx != 0 &&
        incy != 0 && alpha != nullptr && beta != nullptr);
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  const bool rows = trans == CUBLAS_OP_N;
  MatrixVector<T> v{m, n, scalar<T>(handle, alpha), scalar<T>(handle, beta), a, lda,
                    vector(x, rows ? n : m, incx), vector(y, rows ? m : n, incy)};
  if (rows)
    gemv_rows<<<(m + WARP - 1) / WARP, THREADS, 0, handle->stream>>>(v);
  else
    gemv_columns<<<(n + THREADS / WARP - 1) / (THREADS / WARP), THREADS, 0, handle->stream>>>(v);
  return launched();
}

template <class T>
cublasStatus_t geam(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n,
                    const T* alpha, const T* a, int lda, const T* beta, const T* b, int ldb, T* c, int ldc) {
  HANDLE(handle);
  const bool plain_a = transa == CUBLAS_OP_N, plain_b = transb == CUBLAS_OP_N;
  auto least = [](int rows) { return rows > 1 ? rows : 1; };
  VALID(transa >= CUBLAS_OP_N && transa <= CUBLAS_OP_C && transb >= CUBLAS_OP_N && transb <= CUBLAS_OP_C && m >= 0 &&
        n >= 0 && lda >= least(plain_a ? m : n) && ldb >= least(plain_b ? m : n) && ldc >= least(m) &&
        alpha != nullptr && beta != nullptr);
  Geam<T> body{m, scalar<T>(handle, alpha), scalar<T>(handle, beta), a, b, 1, lda, 1, ldb, c, ldc};
  if (!plain_a) body.a_along = lda, body.a_down = 1;
  if (!plain_b) body.b_along = ldb, body.b_down = 1;
  return for_each(handle, (long long)m * n, body);
}

}  // namespace gs_blas

extern "C" {

#define REAL(P, T) \
  cublasStatus_t cublas##P##axpy_v2(cublasHandle_t handle, int n, const T* alpha, const T* x, int incx, T* y, \
                                    int incy) { \
    HANDLE(handle); \
    VALID(alpha != nullptr); \
    using namespace gs_blas; \
    return for_each(handle, n, Axpy<T>{scalar<T>(handle, alpha), vector(x, n, incx), vector(y, n, incy)}); \
  } \
  cublasStatus_t cublas##P##scal_v2(cublasHandle_t handle, int n, const T* alpha, T* x, int incx) { \
    HANDLE(handle); \
    VALID(alpha != nullptr); \
    using namespace gs_blas; \
    return for_each(handle, n, Scal<T>{scalar<T>(handle, alpha), vector(x, n, incx)}); \
  } \
  cublasStatus_t cublas##P##copy_v2(cublasHandle_t handle, int n, const T* x, int incx, T* y, int incy) { \
    HANDLE(handle); \
    using namespace gs_blas; \
    return for_each(handle, n, Copy<T>{vector(x, n, incx), vector(y, n, incy)}); \
  } \
  cublasStatus_t cublas##P##swap_v2(cublasHandle_t handle, int n, T* x, int incx, T* y, int incy) { \
    HANDLE(handle); \
    using namespace gs_blas; \
    return for_each(handle, n, Swap<T>{vector(x, n, incx), vector(y, n, incy)}); \
  } \
  cublasStatus_t cublas##P##dot_v2(cublasHandle_t handle, int n, const T* x, int incx, const T* y, int incy, \
                                   T* result) { \
    HANDLE(handle); \
    using namespace gs_blas; \
    return reduce(handle, n, Dot<T>{vector(x, n, incx), vector(y, n, incy)}, result); \
  } \
  cublasStatus_t cublas##P##nrm2_v2(cublasHandle_t handle, int n, const T* x, int incx, T* result) { \
    HANDLE(handle); \
    return gs_blas::reduce(handle, incx > 0 ? n : 0, gs_blas::Norm<T>{gs_blas::vector(x, n, incx)}, result); \
  } \
  cublasStatus_t cublas##P##asum_v2(cublasHandle_t handle, int n, const T* x, int incx, T* result) { \
    HANDLE(handle); \
    return gs_blas::reduce(handle, incx > 0 ? n : 0, gs_blas::Asum<T>{gs_blas::vector(x, n, incx)}, result); \
  } \
  cublasStatus_t cublas##P##gemv_v2(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const T* alpha, \
                                    const T* a, int lda, const T* x, int incx, const T* beta, T* y, int incy) { \
    return gs_blas::gemv(handle, trans, m, n, alpha, a, lda, x, incx, beta, y, incy); \
  } \
  cublasStatus_t cublas##P##ger_v2(cublasHandle_t handle, int m, int n, const T* alpha, const T* x, int incx, \
                                   const T* y, int incy, T* a, int lda) { \
    HANDLE(handle); \
    VALID(m >= 0 && n >= 0 && incx != 0 && incy != 0 && lda >= (m > 1 ? m : 1) && alpha != nullptr); \
    using namespace gs_blas; \
    Ger<T> body{m, scalar<T>(handle, alpha), vector(x, m, incx), vector(y, n, incy), a, lda}; \
    return for_each(handle, (long long)m * n, body); \
  } \
  cublasStatus_t cublas##P##geam(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, \
                                 int n, const T* alpha, const T* a, int lda, const T* beta, const T* b, int ldb, \
                                 T* c, int ldc) { \
    return gs_blas::geam(handle, transa, transb, m, n, alpha, a, lda, beta, b, ldb, c, ldc); \
  }
REAL(S, float)
REAL(D, double)

#define EXTREME(name, T, largest) \
  cublasStatus_t cublasI##name##_v2(cublasHandle_t handle, int n, const T* x, int incx, int* result) { \
    HANDLE(handle); \
    using namespace gs_blas; \
    return reduce(handle, incx > 0 ? n : 0, Extreme<T, largest>{vector(x, n, incx)}, result); \
  }
EXTREME(samax, float, true)
EXTREME(damax, double, true)
EXTREME(samin, float, false)
EXTREME(damin, double, false)

}  // extern "C"
