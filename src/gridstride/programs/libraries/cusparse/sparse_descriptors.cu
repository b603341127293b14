// Descriptors of sparse matrices in the formats that are there; the others are refused.
#include <cstring>

#include "context.h"

namespace gs_sparse {
namespace {

// Arrays may come later, by SetPointers: a product's size is known only then.
template <class Matrix>
cusparseStatus_t create_sparse(Matrix** made, cusparseFormat_t format, int64_t rows, int64_t columns, int64_t nnz,
                               const void* offsets, const void* indices, const void* values, cusparseIndexType_t offset,
                               cusparseIndexType_t index, cusparseIndexBase_t base, cudaDataType type) {
  VALID(made != nullptr && rows >= 0 && columns >= 0 && nnz >= 0 && is_base(base) && is_type(type));
  if (!is_index(offset) || !is_index(index)) return not_here("a matrix", "indices other than of 32 or 64 bits");
  *made = new cusparseSpMatDescr{
      ALIVE, format, rows, columns, nnz, const_cast<void*>(offsets), const_cast<void*>(indices),
      const_cast<void*>(values), offset, index, base, type, CUSPARSE_FILL_MODE_LOWER, CUSPARSE_DIAG_TYPE_NON_UNIT, 1,
      0, 0};
  return CUSPARSE_STATUS_SUCCESS;
}

template <class Pointer>
cusparseStatus_t get_sparse(cusparseConstSpMatDescr_t a, cusparseFormat_t format, int64_t* rows, int64_t* columns,
                            int64_t* nnz, Pointer* offsets, Pointer* indices, Pointer* values,
                            cusparseIndexType_t* offset, cusparseIndexType_t* index, cusparseIndexBase_t* base,
                            cudaDataType* type) {
  LIVE(a);
  VALID(a->format == format && rows && columns && nnz && offsets && indices && values && offset && index && base &&
        type);
  *rows = a->rows, *columns = a->columns, *nnz = a->nnz;
  *offsets = a->offsets, *indices = a->indices, *values = a->values;
  *offset = a->offset, *index = a->index, *base = a->base, *type = a->type;
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t set_pointers(cusparseSpMatDescr_t a, cusparseFormat_t format, void* offsets, void* indices,
                              void* values) {
  LIVE(a);
  VALID(a->format == format && offsets != nullptr && (a->nnz == 0 || (indices != nullptr && values != nullptr)));
  a->offsets = offsets, a->indices = indices, a->values = values;
  return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace
}  // namespace gs_sparse

using namespace gs_sparse;

extern "C" {

#define COMPRESSED(M, FORMAT) \
  cusparseStatus_t cusparseCreate##M(cusparseSpMatDescr_t* matrix, int64_t rows, int64_t columns, int64_t nnz, \
                                     void* offsets, void* indices, void* values, cusparseIndexType_t offset, \
                                     cusparseIndexType_t index, cusparseIndexBase_t base, cudaDataType type) { \
    return create_sparse(matrix, FORMAT, rows, columns, nnz, offsets, indices, values, offset, index, base, type); \
  } \
  cusparseStatus_t cusparseCreateConst##M(cusparseConstSpMatDescr_t* matrix, int64_t rows, int64_t columns, \
                                          int64_t nnz, const void* offsets, const void* indices, const void* values, \
                                          cusparseIndexType_t offset, cusparseIndexType_t index, \
                                          cusparseIndexBase_t base, cudaDataType type) { \
    return create_sparse(matrix, FORMAT, rows, columns, nnz, offsets, indices, values, offset, index, base, type); \
  } \
  cusparseStatus_t cusparse##M##Get(cusparseSpMatDescr_t a, int64_t* rows, int64_t* columns, int64_t* nnz, \
                                    void** offsets, void** indices, void** values, cusparseIndexType_t* offset, \
                                    cusparseIndexType_t* index, cusparseIndexBase_t* base, cudaDataType* type) { \
    return get_sparse(a, FORMAT, rows, columns, nnz, offsets, indices, values, offset, index, base, type); \
  } \
  cusparseStatus_t cusparseConst##M##Get(cusparseConstSpMatDescr_t a, int64_t* rows, int64_t* columns, int64_t* nnz, \
                                         const void** offsets, const void** indices, const void** values, \
                                         cusparseIndexType_t* offset, cusparseIndexType_t* index, \
                                         cusparseIndexBase_t* base, cudaDataType* type) { \
    return get_sparse(a, FORMAT, rows, columns, nnz, offsets, indices, values, offset, index, base, type); \
  } \
  cusparseStatus_t cusparse##M##SetPointers(cusparseSpMatDescr_t a, void* offsets, void* indices, void* values) { \
    return set_pointers(a, FORMAT, offsets, indices, values); \
  }
COMPRESSED(Csr, CUSPARSE_FORMAT_CSR)
COMPRESSED(Csc, CUSPARSE_FORMAT_CSC)

#define COORDINATES(create, get, Matrix, pointer) \
  cusparseStatus_t create(Matrix* matrix, int64_t rows, int64_t columns, int64_t nnz, pointer row_indices, \
                          pointer column_indices, pointer values, cusparseIndexType_t index, \
                          cusparseIndexBase_t base, cudaDataType type) { \
    return create_sparse(matrix, CUSPARSE_FORMAT_COO, rows, columns, nnz, row_indices, column_indices, values, index, \
                         index, base, type); \
  } \
  cusparseStatus_t get(Matrix matrix, int64_t* rows, int64_t* columns, int64_t* nnz, pointer* row_indices, \
                       pointer* column_indices, pointer* values, cusparseIndexType_t* index, \
                       cusparseIndexBase_t* base, cudaDataType* type) { \
    return get_sparse(matrix, CUSPARSE_FORMAT_COO, rows, columns, nnz, row_indices, column_indices, values, index, \
                      index, base, type); \
  }
COORDINATES(cusparseCreateCoo, cusparseCooGet, cusparseSpMatDescr_t, void*)
COORDINATES(cusparseCreateConstCoo, cusparseConstCooGet, cusparseConstSpMatDescr_t, const void*)

cusparseStatus_t cusparseCooSetPointers(cusparseSpMatDescr_t a, void* row_indices, void* column_indices, void* values) {
  return set_pointers(a, CUSPARSE_FORMAT_COO, row_indices, column_indices, values);
}
cusparseStatus_t cusparseCreateBlockedEll(cusparseSpMatDescr_t*, int64_t, int64_t, int64_t, int64_t, void*, void*,
                                          cusparseIndexType_t, cusparseIndexBase_t, cudaDataType) {
  return not_here("cusparseCreateBlockedEll", "the format");
}
cusparseStatus_t cusparseCreateBsr(cusparseSpMatDescr_t*, int64_t, int64_t, int64_t, int64_t, int64_t, void*, void*,
                                   void*, cusparseIndexType_t, cusparseIndexType_t, cusparseIndexBase_t, cudaDataType,
                                   cusparseOrder_t) {
  return not_here("cusparseCreateBsr", "the format");
}
cusparseStatus_t cusparseCreateSlicedEll(cusparseSpMatDescr_t*, int64_t, int64_t, int64_t, int64_t, int64_t, void*,
                                         void*, void*, cusparseIndexType_t, cusparseIndexType_t, cusparseIndexBase_t,
                                         cudaDataType) {
  return not_here("cusparseCreateSlicedEll", "the format");
}
cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t matrix) { return destroy(matrix); }
cusparseStatus_t cusparseSpMatGetFormat(cusparseConstSpMatDescr_t matrix, cusparseFormat_t* format) {
  LIVE(matrix);
  return get(matrix->format, format);
}
cusparseStatus_t cusparseSpMatGetIndexBase(cusparseConstSpMatDescr_t matrix, cusparseIndexBase_t* base) {
  LIVE(matrix);
  return get(matrix->base, base);
}
cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t matrix, int64_t* rows, int64_t* columns, int64_t* nnz) {
  LIVE(matrix);
  VALID(rows && columns && nnz);
  *rows = matrix->rows, *columns = matrix->columns, *nnz = matrix->nnz;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatGetStridedBatch(cusparseConstSpMatDescr_t matrix, int* count) {
  LIVE(matrix);
  return get(matrix->batch, count);
}
cusparseStatus_t cusparseCsrSetStridedBatch(cusparseSpMatDescr_t matrix, int count, int64_t offsets, int64_t entries) {
  LIVE(matrix);
  VALID(matrix->format == CUSPARSE_FORMAT_CSR && count > 0 && offsets >= 0 && entries >= 0);
  matrix->batch = count, matrix->offsets_stride = offsets, matrix->entries_stride = entries;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCooSetStridedBatch(cusparseSpMatDescr_t matrix, int count, int64_t entries) {
  LIVE(matrix);
  VALID(matrix->format == CUSPARSE_FORMAT_COO && count > 0 && entries >= 0);
  matrix->batch = count, matrix->entries_stride = entries;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t matrix, cusparseSpMatAttribute_t attribute,
                                           void* data, size_t bytes) {
  LIVE(matrix);
  VALID(data != nullptr && bytes == sizeof(int));
  VALID(attribute == CUSPARSE_SPMAT_FILL_MODE || attribute == CUSPARSE_SPMAT_DIAG_TYPE);
  const int value = attribute == CUSPARSE_SPMAT_FILL_MODE ? int(matrix->fill) : int(matrix->diagonal);
  memcpy(data, &value, sizeof value);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t matrix, cusparseSpMatAttribute_t attribute, void* data,
                                           size_t bytes) {
  LIVE(matrix);
  VALID(data != nullptr && bytes == sizeof(int));
  VALID(attribute == CUSPARSE_SPMAT_FILL_MODE || attribute == CUSPARSE_SPMAT_DIAG_TYPE);
  int value;
  memcpy(&value, data, sizeof value);
  VALID(value == 0 || value == 1);
  if (attribute == CUSPARSE_SPMAT_FILL_MODE)
    matrix->fill = cusparseFillMode_t(value);
  else
    matrix->diagonal = cusparseDiagType_t(value);
  return CUSPARSE_STATUS_SUCCESS;
}

}  // extern "C"
