// Kernels that several files of our cuSPARSE launch, and the descriptors as they see them.
#pragma once
#include "context.h"

namespace gs_sparse {

constexpr int THREADS = 256;

inline unsigned blocks_for(cusparseHandle_t handle, long long n) {
  const long long needed = (n + THREADS - 1) / THREADS, most = 8LL * handle->multiprocessors;
  return unsigned(needed < most ? needed : most);
}

template <class Body>
__global__ void __launch_bounds__(THREADS) each_element(long long n, Body body) {
  for (long long i = blockIdx.x * (long long)THREADS + threadIdx.x; i < n; i += (long long)gridDim.x * THREADS) body(i);
}

template <class Body>
cusparseStatus_t for_each(cusparseHandle_t handle, long long n, Body body) {
  if (n <= 0) return CUSPARSE_STATUS_SUCCESS;
  each_element<<<blocks_for(handle, n), THREADS, 0, handle->stream>>>(n, body);
  return launched();
}

// counts[0 .. n) become where each begins, counts[n] how many there are; by one block.
cusparseStatus_t to_offsets(cusparseHandle_t handle, long long* counts, long long n);
// A number that a kernel has left, which the host waits for.
cusparseStatus_t read_back(cusparseHandle_t handle, const void* from, void* to, size_t bytes);

// offsets[r] is where row r begins among sorted row indices.
struct RowOffsets {
  Indices rows;
  long long nnz;
  Indices offsets;
  __device__ void operator()(long long r) const { offsets.set(r, rows.first_from(r, nnz)); }
};

inline Indices indices(const void* at, cusparseIndexType_t type, int base) {
  return {const_cast<void*>(at), type == CUSPARSE_INDEX_64I, base};
}

// One matrix of a batch.
template <class T>
Sparse<T> sparse(cusparseConstSpMatDescr_t a, cusparseOperation_t op, int number = 0) {
  const bool coordinates = a->format == CUSPARSE_FORMAT_COO, columns = a->format == CUSPARSE_FORMAT_CSC;
  Sparse<T> view{coordinates ? a->nnz : columns ? a->columns : a->rows, a->nnz, indices(a->offsets, a->offset, a->base),
                 indices(a->indices, a->index, a->base), static_cast<T*>(a->values), coordinates,
                 (op != CUSPARSE_OPERATION_NON_TRANSPOSE) != columns, op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE};
  const auto move = [&](Indices& each, long long by) {
    each.at = static_cast<char*>(each.at) + by * number * (each.wide ? 8 : 4);
  };
  move(view.offsets, coordinates ? a->entries_stride : a->offsets_stride);
  move(view.minors, a->entries_stride);
  view.values += a->entries_stride * number;
  return view;
}

template <class T>
Dense<T> dense(cusparseConstDnMatDescr_t m, cusparseOperation_t op = CUSPARSE_OPERATION_NON_TRANSPOSE, int number = 0) {
  const bool rows = m->order == CUSPARSE_ORDER_ROW, swapped = rows != (op != CUSPARSE_OPERATION_NON_TRANSPOSE);
  return {static_cast<T*>(m->values) + m->stride * number, swapped ? m->leading : 1, swapped ? 1 : m->leading,
          op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE};
}

template <class T>
Dense<T> dense(cusparseConstDnVecDescr_t v) { return {static_cast<T*>(v->values), 1, v->size, false}; }

inline int64_t rows_of(cusparseConstSpMatDescr_t a, cusparseOperation_t op) {
  return op == CUSPARSE_OPERATION_NON_TRANSPOSE ? a->rows : a->columns;
}
inline int64_t columns_of(cusparseConstSpMatDescr_t a, cusparseOperation_t op) {
  return op == CUSPARSE_OPERATION_NON_TRANSPOSE ? a->columns : a->rows;
}
inline int64_t rows_of(cusparseConstDnMatDescr_t a, cusparseOperation_t op) {
  return op == CUSPARSE_OPERATION_NON_TRANSPOSE ? a->rows : a->columns;
}
inline int64_t columns_of(cusparseConstDnMatDescr_t a, cusparseOperation_t op) {
  return op == CUSPARSE_OPERATION_NON_TRANSPOSE ? a->columns : a->rows;
}

// Pieces of a buffer that the program allocated, one behind the other.
struct Pieces {
  char* at;
  size_t used = 0;
  template <class T>
  T* take(long long count) {
    T* piece = reinterpret_cast<T*>(at + used);
    used += (size_t(count) * sizeof(T) + 15) / 16 * 16;
    return piece;
  }
};

}  // namespace gs_sparse
