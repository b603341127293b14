// Descriptors of vectors and dense matrices: what they are made of, and what of it is given back.
#include "context.h"

namespace gs_sparse {
namespace {

template <class Vector>
cusparseStatus_t create_sparse_vector(Vector** made, int64_t size, int64_t nnz, const void* indices, const void* values,
                                      cusparseIndexType_t index, cusparseIndexBase_t base, cudaDataType type) {
  VALID(made != nullptr && size >= 0 && nnz >= 0 && nnz <= size && is_index(index) && is_base(base) && is_type(type));
  VALID(nnz == 0 || (indices != nullptr && values != nullptr));
  *made = new cusparseSpVecDescr{ALIVE, size, nnz, const_cast<void*>(indices), const_cast<void*>(values), index, base,
                                 type};
  return CUSPARSE_STATUS_SUCCESS;
}

template <class Vector>
cusparseStatus_t create_vector(Vector** made, int64_t size, const void* values, cudaDataType type) {
  VALID(made != nullptr && size >= 0 && is_type(type) && (size == 0 || values != nullptr));
  *made = new cusparseDnVecDescr{ALIVE, size, const_cast<void*>(values), type};
  return CUSPARSE_STATUS_SUCCESS;
}

template <class Matrix>
cusparseStatus_t create_dense(Matrix** made, int64_t rows, int64_t columns, int64_t leading, const void* values,
                              cudaDataType type, cusparseOrder_t order) {
  VALID(made != nullptr && rows >= 0 && columns >= 0 && is_type(type));
  VALID(order == CUSPARSE_ORDER_COL || order == CUSPARSE_ORDER_ROW);
  VALID(leading >= (order == CUSPARSE_ORDER_COL ? rows : columns));
  VALID(rows == 0 || columns == 0 || values != nullptr);
  *made = new cusparseDnMatDescr{ALIVE, rows, columns, leading, const_cast<void*>(values), type, order, 1, 0};
  return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace
}  // namespace gs_sparse

using namespace gs_sparse;

extern "C" {

// -- vectors ---------------------------------------------------------------------------------------------------------
cusparseStatus_t cusparseCreateSpVec(cusparseSpVecDescr_t* vector, int64_t size, int64_t nnz, void* indices,
                                     void* values, cusparseIndexType_t index, cusparseIndexBase_t base,
                                     cudaDataType type) {
  return create_sparse_vector(vector, size, nnz, indices, values, index, base, type);
}
cusparseStatus_t cusparseCreateConstSpVec(cusparseConstSpVecDescr_t* vector, int64_t size, int64_t nnz,
                                          const void* indices, const void* values, cusparseIndexType_t index,
                                          cusparseIndexBase_t base, cudaDataType type) {
  return create_sparse_vector(vector, size, nnz, indices, values, index, base, type);
}
cusparseStatus_t cusparseDestroySpVec(cusparseConstSpVecDescr_t vector) { return destroy(vector); }

#define GET_SPARSE_VECTOR(Name, descriptor, pointer) \
  cusparseStatus_t cusparse##Name##Get(descriptor x, int64_t* size, int64_t* nnz, pointer* indices, pointer* values, \
                                       cusparseIndexType_t* index, cusparseIndexBase_t* base, cudaDataType* type) { \
    LIVE(x); \
    VALID(size && nnz && indices && values && index && base && type); \
    *size = x->size, *nnz = x->nnz, *indices = x->indices, *values = x->values; \
    *index = x->index, *base = x->base, *type = x->type; \
    return CUSPARSE_STATUS_SUCCESS; \
  }
GET_SPARSE_VECTOR(SpVec, cusparseSpVecDescr_t, void*)
GET_SPARSE_VECTOR(ConstSpVec, cusparseConstSpVecDescr_t, const void*)

cusparseStatus_t cusparseSpVecGetIndexBase(cusparseConstSpVecDescr_t vector, cusparseIndexBase_t* base) {
  LIVE(vector);
  return get(vector->base, base);
}
cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t* vector, int64_t size, void* values, cudaDataType type) {
  return create_vector(vector, size, values, type);
}
cusparseStatus_t cusparseCreateConstDnVec(cusparseConstDnVecDescr_t* vector, int64_t size, const void* values,
                                          cudaDataType type) {
  return create_vector(vector, size, values, type);
}
cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t vector) { return destroy(vector); }

#define GET_VECTOR(Name, descriptor, pointer) \
  cusparseStatus_t cusparse##Name##Get(descriptor x, int64_t* size, pointer* values, cudaDataType* type) { \
    LIVE(x); \
    VALID(size && values && type); \
    *size = x->size, *values = x->values, *type = x->type; \
    return CUSPARSE_STATUS_SUCCESS; \
  }
GET_VECTOR(DnVec, cusparseDnVecDescr_t, void*)
GET_VECTOR(ConstDnVec, cusparseConstDnVecDescr_t, const void*)

// The values of each kind, read and replaced.
#define VALUES(Kind) \
  cusparseStatus_t cusparse##Kind##GetValues(cusparse##Kind##Descr_t made, void** values) { \
    LIVE(made); \
    return get(made->values, values); \
  } \
  cusparseStatus_t cusparseConst##Kind##GetValues(cusparseConst##Kind##Descr_t made, const void** values) { \
    LIVE(made); \
    return get(made->values, values); \
  } \
  cusparseStatus_t cusparse##Kind##SetValues(cusparse##Kind##Descr_t made, void* values) { \
    LIVE(made); \
    VALID(values != nullptr); \
    made->values = values; \
    return CUSPARSE_STATUS_SUCCESS; \
  }
VALUES(SpVec)
VALUES(DnVec)
VALUES(SpMat)
VALUES(DnMat)

// -- dense matrices --------------------------------------------------------------------------------------------------
cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t* matrix, int64_t rows, int64_t columns, int64_t leading,
                                     void* values, cudaDataType type, cusparseOrder_t order) {
  return create_dense(matrix, rows, columns, leading, values, type, order);
}
cusparseStatus_t cusparseCreateConstDnMat(cusparseConstDnMatDescr_t* matrix, int64_t rows, int64_t columns,
                                          int64_t leading, const void* values, cudaDataType type,
                                          cusparseOrder_t order) {
  return create_dense(matrix, rows, columns, leading, values, type, order);
}
cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t matrix) { return destroy(matrix); }

#define GET_DENSE(Name, descriptor, pointer) \
  cusparseStatus_t cusparse##Name##Get(descriptor m, int64_t* rows, int64_t* columns, int64_t* leading, \
                                       pointer* values, cudaDataType* type, cusparseOrder_t* order) { \
    LIVE(m); \
    VALID(rows && columns && leading && values && type && order); \
    *rows = m->rows, *columns = m->columns, *leading = m->leading, *values = m->values; \
    *type = m->type, *order = m->order; \
    return CUSPARSE_STATUS_SUCCESS; \
  }
GET_DENSE(DnMat, cusparseDnMatDescr_t, void*)
GET_DENSE(ConstDnMat, cusparseConstDnMatDescr_t, const void*)

cusparseStatus_t cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t matrix, int count, int64_t stride) {
  LIVE(matrix);
  VALID(count > 0 && stride >= 0);
  matrix->batch = count, matrix->stride = stride;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseDnMatGetStridedBatch(cusparseConstDnMatDescr_t matrix, int* count, int64_t* stride) {
  LIVE(matrix);
  VALID(count && stride);
  *count = matrix->batch, *stride = matrix->stride;
  return CUSPARSE_STATUS_SUCCESS;
}

}  // extern "C"
