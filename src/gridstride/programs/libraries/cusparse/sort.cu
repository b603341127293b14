// Entries in order: runs are merged to longer ones, each entry finding its place by a search in the other run.
#include "sort.h"

namespace gs_sparse {
namespace {

struct Merged {
  Keys keys;
  long long n, width;
  const int* from;
  int* to;
  __device__ bool less(int a, int b) const {
    if (keys.first[a] != keys.first[b]) return keys.first[a] < keys.first[b];
    return keys.second != nullptr && keys.second[a] < keys.second[b];
  }
  __device__ void operator()(long long i) const {
    const long long run = i / width, begin = run / 2 * 2 * width, own = run * width;
    const bool second = run % 2 != 0;
    const long long other = min(n, second ? begin : own + width), end = min(n, second ? own : own + 2 * width);
    // Equal ones of the first run come first.
    long long low = other, high = end;
    while (low < high) {
      const long long middle = (low + high) / 2;
      if (second ? !less(from[i], from[middle]) : less(from[middle], from[i]))
        low = middle + 1;
      else
        high = middle;
    }
    to[begin + (i - own) + (low - other)] = from[i];
  }
};

struct Counting {
  int* to;
  __device__ void operator()(long long i) const { to[i] = int(i); }
};

struct Picked {
  const int *from, *order;
  int* to;
  __device__ void operator()(long long i) const { to[i] = from[order[i]]; }
};

struct Rows {
  Indices offsets;
  int* rows;
  __device__ void operator()(long long r) const {
    for (long long k = offsets[r]; k < offsets[r + 1]; ++k) rows[k] = int(r);
  }
};

// An array of entries in its new order, by way of `spare`.
cusparseStatus_t reorder(cusparseHandle_t handle, int* array, const int* order, int n, int* spare) {
  if (array == nullptr) return CUSPARSE_STATUS_SUCCESS;
  DONE(for_each(handle, n, Picked{array, order, spare}));
  return from_runtime(cudaMemcpyAsync(array, spare, size_t(n) * sizeof(int), cudaMemcpyDeviceToDevice, handle->stream));
}

cusparseStatus_t sort_bytes(cusparseHandle_t handle, int m, int n, int nnz, size_t* bytes) {
  LIVE(handle);
  VALID(m >= 0 && n >= 0 && nnz >= 0 && bytes != nullptr);
  Pieces pieces{nullptr};
  for (int i = 0; i < 3; ++i) pieces.take<int>(nnz);
  *bytes = pieces.used;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t sort_entries(cusparseHandle_t handle, int m, int n, int nnz, int* first, int* second, int* permutation,
                              void* buffer) {
  LIVE(handle);
  VALID(m >= 0 && n >= 0 && nnz >= 0);
  if (nnz == 0) return CUSPARSE_STATUS_SUCCESS;
  VALID(first != nullptr && second != nullptr && buffer != nullptr);
  Pieces pieces{static_cast<char*>(buffer)};
  int *order = pieces.take<int>(nnz), *other = pieces.take<int>(nnz), *spare = pieces.take<int>(nnz), *made;
  DONE(sorted(handle, {first, second}, nnz, order, other, &made));
  for (int* each : {first, second, permutation}) DONE(reorder(handle, each, made, nnz, spare));
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t sort_minors(cusparseHandle_t handle, int majors, int minors, int nnz, cusparseMatDescr_t matrix,
                             const int* offsets, int* indices, int* permutation, void* buffer) {
  LIVE(handle);
  LIVE(matrix);
  VALID(majors >= 0 && minors >= 0 && nnz >= 0 && offsets != nullptr);
  if (nnz == 0) return CUSPARSE_STATUS_SUCCESS;
  VALID(indices != nullptr && buffer != nullptr);
  Pieces pieces{static_cast<char*>(buffer)};
  int *order = pieces.take<int>(nnz), *other = pieces.take<int>(nnz), *rows = pieces.take<int>(nnz), *made;
  DONE(for_each(handle, majors, Rows{{const_cast<int*>(offsets), false, matrix->base}, rows}));
  DONE(sorted(handle, {rows, indices}, nnz, order, other, &made));
  for (int* each : {indices, permutation}) DONE(reorder(handle, each, made, nnz, rows));
  return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace

cusparseStatus_t sorted(cusparseHandle_t handle, Keys keys, int n, int* order, int* other, int** result) {
  DONE(for_each(handle, n, Counting{order}));
  for (long long width = 1; width < n; width *= 2) {
    DONE(for_each(handle, n, Merged{keys, n, width, order, other}));
    int* kept = order;
    order = other, other = kept;
  }
  *result = order;
  return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace gs_sparse

using namespace gs_sparse;

extern "C" {

cusparseStatus_t cusparseCreateIdentityPermutation(cusparseHandle_t handle, int n, int* permutation) {
  LIVE(handle);
  VALID(n >= 0 && (n == 0 || permutation != nullptr));
  return for_each(handle, n, Counting{permutation});
}

cusparseStatus_t cusparseXcoosort_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz, const int*, const int*,
                                                size_t* bytes) {
  return sort_bytes(handle, m, n, nnz, bytes);
}

cusparseStatus_t cusparseXcoosortByRow(cusparseHandle_t handle, int m, int n, int nnz, int* rows, int* columns,
                                       int* permutation, void* buffer) {
  return sort_entries(handle, m, n, nnz, rows, columns, permutation, buffer);
}

cusparseStatus_t cusparseXcoosortByColumn(cusparseHandle_t handle, int m, int n, int nnz, int* rows, int* columns,
                                          int* permutation, void* buffer) {
  return sort_entries(handle, m, n, nnz, columns, rows, permutation, buffer);
}

cusparseStatus_t cusparseXcsrsort_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz, const int*, const int*,
                                                size_t* bytes) {
  return sort_bytes(handle, m, n, nnz, bytes);
}

cusparseStatus_t cusparseXcsrsort(cusparseHandle_t handle, int m, int n, int nnz, const cusparseMatDescr_t matrix,
                                  const int* offsets, int* indices, int* permutation, void* buffer) {
  return sort_minors(handle, m, n, nnz, matrix, offsets, indices, permutation, buffer);
}

cusparseStatus_t cusparseXcscsort_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz, const int*, const int*,
                                                size_t* bytes) {
  return sort_bytes(handle, m, n, nnz, bytes);
}

cusparseStatus_t cusparseXcscsort(cusparseHandle_t handle, int m, int n, int nnz, const cusparseMatDescr_t matrix,
                                  const int* offsets, int* indices, int* permutation, void* buffer) {
  return sort_minors(handle, n, m, nnz, matrix, offsets, indices, permutation, buffer);
}

}  // extern "C"
