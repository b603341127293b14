// The calls that solve triangular systems, of a vector (SpSV) and of a dense matrix (SpSM).
#include "triangular.h"

namespace gs_sparse {
namespace {

cusparseStatus_t check_vectors(cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, cusparseConstDnVecDescr_t y,
                               bool needed) {
  if (!needed && (x == nullptr || y == nullptr)) return CUSPARSE_STATUS_SUCCESS;
  LIVE(x);
  LIVE(y);
  VALID(x->size == a->rows && y->size == a->rows && x->type == a->type && y->type == a->type);
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t check_dense(cusparseConstSpMatDescr_t a, cusparseOperation_t op, cusparseConstDnMatDescr_t b,
                             cusparseConstDnMatDescr_t c, bool needed) {
  VALID(is_op(op));
  if (!needed && (b == nullptr || c == nullptr)) return CUSPARSE_STATUS_SUCCESS;
  LIVE(b);
  LIVE(c);
  VALID(rows_of(b, op) == a->rows && c->rows == a->rows && columns_of(b, op) == c->columns);
  VALID(b->type == a->type && c->type == a->type);
  return b->batch == 1 && c->batch == 1 ? CUSPARSE_STATUS_SUCCESS : not_here("cusparseSpSM", "batches");
}

template <class Made>
cusparseStatus_t create(Made** made) {
  VALID(made != nullptr);
  *made = new Made{};
  (*made)->alive = ALIVE;
  return CUSPARSE_STATUS_SUCCESS;
}

// A vector as a matrix of one column.
cusparseDnMatDescr column(cusparseConstDnVecDescr_t x) {
  return {ALIVE, x->size, 1, x->size, x->values, x->type, CUSPARSE_ORDER_COL, 1, 0};
}

}  // namespace
}  // namespace gs_sparse

using namespace gs_sparse;

extern "C" {

cusparseStatus_t cusparseSpSV_createDescr(cusparseSpSVDescr_t* solve) { return create(solve); }
cusparseStatus_t cusparseSpSV_destroyDescr(cusparseSpSVDescr_t solve) { return destroy(solve); }

cusparseStatus_t cusparseSpSV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x,
                                         cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpSVAlg_t,
                                         cusparseSpSVDescr_t solve, size_t* bytes) {
  DONE(check_system("cusparseSpSV", handle, op, alpha, a, solve, compute));
  DONE(check_vectors(a, x, y, false));
  return system_bytes(a, bytes);
}

cusparseStatus_t cusparseSpSV_analysis(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                       cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x,
                                       cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpSVAlg_t,
                                       cusparseSpSVDescr_t solve, void* buffer) {
  DONE(check_system("cusparseSpSV", handle, op, alpha, a, solve, compute));
  DONE(check_vectors(a, x, y, false));
  return analyse(handle, op, a, solve, buffer);
}

cusparseStatus_t cusparseSpSV_solve(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                    cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y,
                                    cudaDataType compute, cusparseSpSVAlg_t, cusparseSpSVDescr_t solve) {
  DONE(check_system("cusparseSpSV", handle, op, alpha, a, solve, compute));
  DONE(check_vectors(a, x, y, true));
  return solve_system("cusparseSpSV", handle, op, alpha, *solve, column(x), CUSPARSE_OPERATION_NON_TRANSPOSE,
                      column(y));
}

cusparseStatus_t cusparseSpSV_updateMatrix(cusparseHandle_t handle, cusparseSpSVDescr_t solve, void* values,
                                           cusparseSpSVUpdate_t part) {
  return update("cusparseSpSV", handle, solve, values, part == CUSPARSE_SPSV_UPDATE_DIAGONAL);
}

cusparseStatus_t cusparseSpSM_createDescr(cusparseSpSMDescr_t* solve) { return create(solve); }
cusparseStatus_t cusparseSpSM_destroyDescr(cusparseSpSMDescr_t solve) { return destroy(solve); }

cusparseStatus_t cusparseSpSM_bufferSize(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                         const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                         cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpSMAlg_t,
                                         cusparseSpSMDescr_t solve, size_t* bytes) {
  DONE(check_system("cusparseSpSM", handle, op_a, alpha, a, solve, compute));
  DONE(check_dense(a, op_b, b, c, false));
  return system_bytes(a, bytes);
}

cusparseStatus_t cusparseSpSM_analysis(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                       const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                       cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpSMAlg_t,
                                       cusparseSpSMDescr_t solve, void* buffer) {
  DONE(check_system("cusparseSpSM", handle, op_a, alpha, a, solve, compute));
  DONE(check_dense(a, op_b, b, c, false));
  return analyse(handle, op_a, a, solve, buffer);
}

cusparseStatus_t cusparseSpSM_solve(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                    const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                    cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpSMAlg_t,
                                    cusparseSpSMDescr_t solve) {
  DONE(check_system("cusparseSpSM", handle, op_a, alpha, a, solve, compute));
  DONE(check_dense(a, op_b, b, c, true));
  return solve_system("cusparseSpSM", handle, op_a, alpha, *solve, *b, op_b, *c);
}

cusparseStatus_t cusparseSpSM_updateMatrix(cusparseHandle_t handle, cusparseSpSMDescr_t solve, void* values,
                                           cusparseSpSMUpdate_t part) {
  return update("cusparseSpSM", handle, solve, values, part == CUSPARSE_SPSM_UPDATE_DIAGONAL);
}

}  // extern "C"
