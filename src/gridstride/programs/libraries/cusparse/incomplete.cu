// Incomplete factors in the pattern of a matrix: LU, and Cholesky's of its lower triangle.
#include "levels.h"

// A pivot that is none, from an analysis or a factorization; -1 for none.
struct gs_factor {
  unsigned alive;
  gs_sparse::Levels levels;
  long long* pivot;  // in device memory, from 0; the largest number for none
  int rows, nnz, base;
  bool analyzed, boosts;
  double tolerance, boost[2];
};
struct csrilu02Info : gs_factor {};
struct csric02Info : gs_factor {};

namespace gs_sparse {
namespace {

constexpr long long NO_PIVOT = 0x7fffffff;

template <class T>
struct Factor {
  long long rows;
  Indices offsets, minors;
  T* values;
  Levels levels;
  long long* pivot;
  bool boosts;
  double tolerance;
  T boost;
  // Columns of a row are sorted; -1 where it has none of that number.
  __device__ long long find(long long row, long long column) const {
    long long low = offsets[row], end = offsets[row + 1], high = end;
    while (low < high) {
      const long long middle = (low + high) / 2;
      if (minors[middle] < column)
        low = middle + 1;
      else
        high = middle;
    }
    return low < end && minors[low] == column ? low : -1;
  }
  __device__ void no_pivot(long long row) const { atomicMin(pivot, row); }
};

template <class T>
struct WithoutDiagonal {
  Factor<T> f;
  __device__ void operator()(long long row) const {
    if (f.find(row, row) < 0) f.no_pivot(row);
  }
};

struct NoPivot {
  long long* pivot;
  __device__ void operator()(long long) const { *pivot = NO_PIVOT; }
};

// A row of L and U: what rows above it take away, where it has entries.
template <class T>
struct Ilu {
  static __device__ void row(const Factor<T>& f, long long row) {
    const long long end = f.offsets[row + 1];
    for (long long k = f.offsets[row]; k < end && f.minors[k] < row; ++k) {
      const long long above = f.minors[k], diagonal = f.find(above, above);
      if (diagonal < 0) continue;
      const T factor = f.values[k] = f.values[k] / f.values[diagonal];
      for (long long i = diagonal + 1; i < f.offsets[above + 1]; ++i)
        if (const long long at = f.find(row, f.minors[i]); at >= 0) f.values[at] = f.values[at] - factor * f.values[i];
    }
    const long long diagonal = f.find(row, row);
    if (diagonal < 0) return;
    if (f.boosts && size_of(f.values[diagonal]) <= f.tolerance) f.values[diagonal] = f.boost;
    if (zero(f.values[diagonal])) f.no_pivot(row);
  }
};

template <class T>
__device__ T root(T a) { return sqrt(a); }
template <class R>
__device__ Complex<R> root(Complex<R> a) { return {sqrt(a.x), R(0)}; }
template <class T>
__device__ double real_of(T a) { return a; }
template <class R>
__device__ double real_of(Complex<R> a) { return a.x; }

// A row of L, of whose product with its transpose the matrix's lower triangle is.
template <class T>
struct Ic {
  static __device__ void row(const Factor<T>& f, long long row) {
    const long long begin = f.offsets[row], end = f.offsets[row + 1];
    for (long long k = begin; k < end && f.minors[k] <= row; ++k) {
      const long long other = f.minors[k];
      T sum = f.values[k];
      for (long long i = begin; i < k; ++i)
        if (const long long at = f.find(other, f.minors[i]); at >= 0)
          sum = sum - f.values[i] * conjugate(f.values[at]);
      if (other < row) {
        const long long diagonal = f.find(other, other);
        if (diagonal >= 0) f.values[k] = sum / f.values[diagonal];
        continue;
      }
      if (!(real_of(sum) > 0)) f.no_pivot(row);
      f.values[k] = root(sum);
    }
  }
};

template <template <class> class Kind, class T>
__global__ void __launch_bounds__(THREADS) factor_levels(Factor<T> f) {
  const long long count = *f.levels.count;
  for (long long level = 0; level < count; ++level) {
    const long long end = f.levels.starts[level + 1];
    for (long long i = f.levels.starts[level] + threadIdx.x; i < end; i += THREADS) Kind<T>::row(f, f.levels.order[i]);
    __syncthreads();
  }
}

cusparseStatus_t check(cusparseHandle_t handle, int m, int nnz, cusparseMatDescr_t matrix, const void* values,
                       const int* offsets, const int* indices, const gs_factor* info) {
  LIVE(handle);
  LIVE(matrix);
  LIVE(info);
  VALID(m >= 0 && nnz >= 0 && offsets != nullptr && (nnz == 0 || (values != nullptr && indices != nullptr)));
  return matrix->type == CUSPARSE_MATRIX_TYPE_GENERAL ? CUSPARSE_STATUS_SUCCESS
                                                      : CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
}

template <class T>
Factor<T> factor_of(const gs_factor& info, cusparseMatDescr_t matrix, int m, T* values, const int* offsets,
                    const int* minors) {
  Factor<T> f{m, indices(offsets, CUSPARSE_INDEX_32I, matrix->base), indices(minors, CUSPARSE_INDEX_32I, matrix->base),
              values, info.levels, info.pivot, info.boosts, info.tolerance, {}};
  const double* given = info.boost;
  if constexpr (sizeof(T) == 2 * sizeof(double))
    f.boost = {given[0], given[1]};
  else if constexpr (std::is_same_v<T, Complex<float>>)
    f.boost = {float(given[0]), float(given[1])};
  else
    f.boost = T(given[0]);
  return f;
}

cusparseStatus_t size_in(int m, int* bytes) {
  VALID(bytes != nullptr);
  Pieces pieces{nullptr};
  levels_in(pieces, m);
  pieces.take<long long>(1);
  *bytes = int(pieces.used);
  return CUSPARSE_STATUS_SUCCESS;
}

template <class T>
cusparseStatus_t analyse(cusparseHandle_t handle, int m, int nnz, cusparseMatDescr_t matrix, const int* offsets,
                         const int* minors, gs_factor* info, void* buffer) {
  VALID(buffer != nullptr);
  Pieces pieces{static_cast<char*>(buffer)};
  info->levels = levels_in(pieces, m);
  info->pivot = pieces.take<long long>(1);
  info->rows = m, info->nnz = nnz, info->base = matrix->base;
  const Factor<T> f = factor_of<T>(*info, matrix, m, nullptr, offsets, minors);
  DONE(for_each(handle, 1, NoPivot{info->pivot}));
  DONE(for_each(handle, m, WithoutDiagonal<T>{f}));
  DONE(find_levels(handle, {m, f.offsets, f.minors, true, false}, info->levels));
  info->analyzed = true;
  return CUSPARSE_STATUS_SUCCESS;
}

template <template <class> class Kind, class T>
cusparseStatus_t factorize(cusparseHandle_t handle, int m, int nnz, cusparseMatDescr_t matrix, T* values,
                           const int* offsets, const int* minors, const gs_factor& info) {
  VALID(info.analyzed && info.rows == m && info.nnz == nnz);
  if (m == 0) return CUSPARSE_STATUS_SUCCESS;
  factor_levels<Kind, T><<<1, THREADS, 0, handle->stream>>>(factor_of(info, matrix, m, values, offsets, minors));
  return launched();
}

// Waits: the position is the host's or the device's, as the pointer mode says.
cusparseStatus_t zero_pivot(cusparseHandle_t handle, const gs_factor* info, int* position) {
  LIVE(handle);
  LIVE(info);
  VALID(position != nullptr);
  long long found = NO_PIVOT;
  if (info->analyzed) DONE(read_back(handle, info->pivot, &found, sizeof found));
  const int number = found == NO_PIVOT ? -1 : int(found) + info->base;
  DONE(from_runtime(cudaMemcpy(position, &number, sizeof number, cudaMemcpyDefault)));
  return number < 0 ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ZERO_PIVOT;
}

template <class Made>
cusparseStatus_t create(Made** made) {
  VALID(made != nullptr);
  *made = new Made{};
  (*made)->alive = ALIVE;
  return CUSPARSE_STATUS_SUCCESS;
}

template <class T, class R>
cusparseStatus_t boost(cusparseHandle_t handle, gs_factor* info, int enable, const double* tolerance, const T* value) {
  LIVE(handle);
  LIVE(info);
  VALID(!enable || (tolerance != nullptr && value != nullptr));
  info->boosts = enable != 0;
  if (!enable) return CUSPARSE_STATUS_SUCCESS;
  R parts[2] = {};
  DONE(from_runtime(cudaMemcpy(&info->tolerance, tolerance, sizeof(double), cudaMemcpyDefault)));
  DONE(from_runtime(cudaMemcpy(parts, value, sizeof(T), cudaMemcpyDefault)));
  info->boost[0] = parts[0], info->boost[1] = parts[1];
  return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace
}  // namespace gs_sparse

using namespace gs_sparse;

extern "C" {

cusparseStatus_t cusparseCreateCsrilu02Info(csrilu02Info_t* info) { return create(info); }
cusparseStatus_t cusparseDestroyCsrilu02Info(csrilu02Info_t info) { return destroy(info); }
cusparseStatus_t cusparseXcsrilu02_zeroPivot(cusparseHandle_t handle, csrilu02Info_t info, int* position) {
  return zero_pivot(handle, info, position);
}
cusparseStatus_t cusparseCreateCsric02Info(csric02Info_t* info) { return create(info); }
cusparseStatus_t cusparseDestroyCsric02Info(csric02Info_t info) { return destroy(info); }
cusparseStatus_t cusparseXcsric02_zeroPivot(cusparseHandle_t handle, csric02Info_t info, int* position) {
  return zero_pivot(handle, info, position);
}

#define FACTOR(F, Kind, P, Given, T) \
  cusparseStatus_t cusparse##P##csr##F##02_bufferSize(cusparseHandle_t handle, int m, int nnz, \
                                                      const cusparseMatDescr_t matrix, Given* values, \
                                                      const int* offsets, const int* indices, csr##F##02Info_t info, \
                                                      int* bytes) { \
    DONE(check(handle, m, nnz, matrix, values, offsets, indices, info)); \
    return size_in(m, bytes); \
  } \
  cusparseStatus_t cusparse##P##csr##F##02_analysis(cusparseHandle_t handle, int m, int nnz, \
                                                    const cusparseMatDescr_t matrix, const Given* values, \
                                                    const int* offsets, const int* indices, csr##F##02Info_t info, \
                                                    cusparseSolvePolicy_t, void* buffer) { \
    DONE(check(handle, m, nnz, matrix, values, offsets, indices, info)); \
    return analyse<T>(handle, m, nnz, matrix, offsets, indices, info, buffer); \
  } \
  cusparseStatus_t cusparse##P##csr##F##02(cusparseHandle_t handle, int m, int nnz, const cusparseMatDescr_t matrix, \
                                           Given* values, const int* offsets, const int* indices, \
                                           csr##F##02Info_t info, cusparseSolvePolicy_t, void*) { \
    DONE(check(handle, m, nnz, matrix, values, offsets, indices, info)); \
    return factorize<Kind>(handle, m, nnz, matrix, reinterpret_cast<T*>(values), offsets, indices, *info); \
  }
#define TYPE(P, Given, T, R) \
  FACTOR(ilu, Ilu, P, Given, T) \
  FACTOR(ic, Ic, P, Given, T) \
  cusparseStatus_t cusparse##P##csrilu02_numericBoost(cusparseHandle_t handle, csrilu02Info_t info, int enable, \
                                                      double* tolerance, Given* value) { \
    return boost<Given, R>(handle, info, enable, tolerance, value); \
  }
TYPE(S, float, float, float)
TYPE(D, double, double, double)
TYPE(C, cuComplex, Complex<float>, float)
TYPE(Z, cuDoubleComplex, Complex<double>, double)

}  // extern "C"
