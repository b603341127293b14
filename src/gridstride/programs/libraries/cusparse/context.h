// What the files of our cuSPARSE share: the handle, descriptors, scalars on either side, what a launch's error becomes.
#pragma once
#include <cuda_runtime.h>
#include <cusparse.h>

#include "values.h"

struct cusparseContext {
  unsigned alive;
  cudaStream_t stream;
  cusparsePointerMode_t pointers;
  int multiprocessors;
};

struct cusparseMatDescr {
  unsigned alive;
  cusparseMatrixType_t type;
  cusparseFillMode_t fill;
  cusparseDiagType_t diagonal;
  cusparseIndexBase_t base;
};

struct cusparseSpVecDescr {
  unsigned alive;
  int64_t size, nnz;
  void *indices, *values;
  cusparseIndexType_t index;
  cusparseIndexBase_t base;
  cudaDataType type;
};

struct cusparseDnVecDescr {
  unsigned alive;
  int64_t size;
  void* values;
  cudaDataType type;
};

// Of coordinates `offsets` are the row indices.
struct cusparseSpMatDescr {
  unsigned alive;
  cusparseFormat_t format;
  int64_t rows, columns, nnz;
  void *offsets, *indices, *values;
  cusparseIndexType_t offset, index;
  cusparseIndexBase_t base;
  cudaDataType type;
  cusparseFillMode_t fill;
  cusparseDiagType_t diagonal;
  int batch;
  int64_t offsets_stride, entries_stride;
};

struct cusparseDnMatDescr {
  unsigned alive;
  int64_t rows, columns, leading;
  void* values;
  cudaDataType type;
  cusparseOrder_t order;
  int batch;
  int64_t stride;
};

namespace gs_sparse {

constexpr unsigned ALIVE = 0x53505253;

template <class Made>
bool alive(const Made* made) { return made != nullptr && made->alive == ALIVE; }

// A destroyed one stays as a block, so that a second use gets a status and no crash.
template <class Made>
cusparseStatus_t destroy(const Made* made) {
  if (!alive(made)) return CUSPARSE_STATUS_NOT_INITIALIZED;
  const_cast<Made*>(made)->alive = 0;
  return CUSPARSE_STATUS_SUCCESS;
}

// Of the launch just made.
cusparseStatus_t launched();
cusparseStatus_t from_runtime(cudaError_t error);
// What is not there, in words: said once.
cusparseStatus_t not_here(const char* function, const char* what);

bool is_index(cusparseIndexType_t type);
bool is_type(cudaDataType type);
size_t bytes_of(cudaDataType type);
inline bool is_op(cusparseOperation_t op) {
  return op >= CUSPARSE_OPERATION_NON_TRANSPOSE && op <= CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE;
}
inline bool is_base(cusparseIndexBase_t base) {
  return base == CUSPARSE_INDEX_BASE_ZERO || base == CUSPARSE_INDEX_BASE_ONE;
}

// alpha or beta: its value, or where it lies in device memory by the time the kernel runs.
template <class T>
struct Scalar {
  T value;
  const T* at;
  __device__ T get() const { return at ? *at : value; }
};

template <class T>
Scalar<T> scalar(cusparseHandle_t handle, const void* given) {
  if (handle->pointers == CUSPARSE_POINTER_MODE_DEVICE) return {T{}, static_cast<const T*>(given)};
  return {*static_cast<const T*>(given), nullptr};
}

// Calls `of` with a value of the type; each type's code is its own.
template <class Of>
cusparseStatus_t for_type(const char* function, cudaDataType type, Of of) {
  switch (type) {
    case CUDA_R_32F: return of(float{});
    case CUDA_R_64F: return of(double{});
    case CUDA_C_32F: return of(Complex<float>{});
    case CUDA_C_64F: return of(Complex<double>{});
    default: return not_here(function, "values other than float and double, real or complex");
  }
}

}  // namespace gs_sparse

#define NEED(condition, status) \
  do { \
    if (!(condition)) return status; \
  } while (0)
#define LIVE(made) NEED(gs_sparse::alive(made), CUSPARSE_STATUS_NOT_INITIALIZED)
#define VALID(condition) NEED(condition, CUSPARSE_STATUS_INVALID_VALUE)
#define DONE(call) \
  do { \
    if (cusparseStatus_t status_ = (call); status_ != CUSPARSE_STATUS_SUCCESS) return status_; \
  } while (0)

namespace gs_sparse {

// A descriptor's field, for one of the interface's getters.
template <class Field, class Out>
cusparseStatus_t get(const Field& field, Out* out) {
  VALID(out != nullptr);
  *out = field;
  return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace gs_sparse
