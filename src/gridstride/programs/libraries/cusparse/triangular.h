// Triangular systems, as cusparseSpSV and cusparseSpSM both solve them.
#pragma once
#include "levels.h"

// What an analysis found, and where: in the buffer that it was given. Values are copied there, as the vendor's are, so
// that new ones count only from updateMatrix on.
struct gs_solve {
  unsigned alive;
  bool analyzed;
  cusparseOperation_t op;
  cusparseSpMatDescr matrix;  // as it was then; offsets of coordinates have become those of rows
  gs_sparse::Levels levels;
};
struct cusparseSpSVDescr : gs_solve {};
struct cusparseSpSMDescr : gs_solve {};

namespace gs_sparse {

// What both calls need of A and of their descriptor.
cusparseStatus_t check_system(const char* function, cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                              cusparseConstSpMatDescr_t a, const gs_solve* solve, cudaDataType compute);
// How long the buffer of an analysis must be.
cusparseStatus_t system_bytes(cusparseConstSpMatDescr_t a, size_t* bytes);
cusparseStatus_t analyse(cusparseHandle_t handle, cusparseOperation_t op, cusparseConstSpMatDescr_t a, gs_solve* solve,
                         void* buffer);
// op(A) C = alpha op(B)
cusparseStatus_t solve_system(const char* function, cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                              const gs_solve& solve, const cusparseDnMatDescr& b, cusparseOperation_t op_b,
                              const cusparseDnMatDescr& c);
// New values for those that the analysis copied, all or the diagonal's.
cusparseStatus_t update(const char* function, cusparseHandle_t handle, gs_solve* solve, const void* values,
                        bool diagonal);

}  // namespace gs_sparse
