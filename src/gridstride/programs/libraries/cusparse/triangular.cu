// Triangular systems, with one right side or many: level by level, a block for each right side.
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
namespace {

template <class T>
struct Solve {
  Sparse<T> a;
  Triangle triangle;
  Levels levels;
  bool unit;
  Dense<T> b, c;
  Scalar<T> alpha;
  long long rows;
};

// A row takes from its right side what rows before it came to.
template <class T>
__device__ void pull(const Solve<T>& s, long long row, long long column) {
  T sum = s.alpha.get() * s.b(row, column), diagonal{};
  for (long long k = s.a.offsets[row]; k < s.a.offsets[row + 1]; ++k) {
    const long long minor = s.a.minors[k];
    if (s.triangle.used(row, minor)) sum = sum - s.a.value(k) * *s.c.to(minor, column);
    if (minor == row) diagonal = s.a.value(k);
  }
  *s.c.to(row, column) = s.unit ? sum : sum / diagonal;
}

// A column, once it is solved, goes from the right sides of the rows behind it.
template <class T>
__device__ void push(const Solve<T>& s, long long major, long long column) {
  T x = *s.c.to(major, column), diagonal{};
  const long long begin = s.a.offsets[major], end = s.a.offsets[major + 1];
  for (long long k = begin; k < end; ++k)
    if (s.a.minors[k] == major) diagonal = s.a.value(k);
  if (!s.unit) *s.c.to(major, column) = x = x / diagonal;
  for (long long k = begin; k < end; ++k) {
    const long long minor = s.a.minors[k];
    if (s.triangle.used(major, minor)) add(s.c.to(minor, column), T{} - s.a.value(k) * x);
  }
}

template <class T>
__global__ void __launch_bounds__(THREADS) solve_levels(Solve<T> s) {
  const long long column = blockIdx.x, count = *s.levels.count;
  if (s.a.flipped) {
    for (long long i = threadIdx.x; i < s.rows; i += THREADS) *s.c.to(i, column) = s.alpha.get() * s.b(i, column);
    __syncthreads();
  }
  for (long long level = 0; level < count; ++level) {
    const long long end = s.levels.starts[level + 1];
    for (long long i = s.levels.starts[level] + threadIdx.x; i < end; i += THREADS) {
      if (s.a.flipped)
        push(s, s.levels.order[i], column);
      else
        pull(s, s.levels.order[i], column);
    }
    __syncthreads();
  }
}

template <class T>
struct Diagonal {
  Sparse<T> a;
  const T* values;
  __device__ void operator()(long long major) const {
    for (long long k = a.offsets[major]; k < a.offsets[major + 1]; ++k)
      if (a.minors[k] == major) a.values[k] = values[major];
  }
};

struct Memory {
  Levels levels;
  long long* offsets;
  void* values;
  size_t bytes;
};

Memory memory_of(cusparseConstSpMatDescr_t a, void* buffer) {
  Pieces pieces{static_cast<char*>(buffer)};
  Memory made{};
  made.levels = levels_in(pieces, a->rows);
  made.offsets = pieces.take<long long>(a->format == CUSPARSE_FORMAT_COO ? a->rows + 1 : 0);
  made.values = pieces.take<char>(a->nnz * bytes_of(a->type));
  made.bytes = pieces.used;
  return made;
}

cusparseStatus_t check(const char* function, cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                       cusparseConstSpMatDescr_t a, const gs_solve* solve, cudaDataType compute) {
  LIVE(handle);
  LIVE(a);
  LIVE(solve);
  VALID(is_op(op) && alpha != nullptr && a->rows == a->columns);
  return a->type == compute ? CUSPARSE_STATUS_SUCCESS : not_here(function, "operands and sums of different types");
}

// Sparse views have coordinates only in the format's name from here on.
template <class T>
Sparse<T> compressed(const gs_solve& s) {
  Sparse<T> view = sparse<T>(&s.matrix, s.op);
  view.majors = s.matrix.rows;
  return view;
}

template <class T>
Triangle triangle_of(const gs_solve& s, const Sparse<T>& view) {
  const bool lower = (s.matrix.fill == CUSPARSE_FILL_MODE_LOWER) == (s.op == CUSPARSE_OPERATION_NON_TRANSPOSE);
  return {view.majors, view.offsets, view.minors, lower, view.flipped};
}

cusparseStatus_t analyse(cusparseHandle_t handle, cusparseOperation_t op, cusparseConstSpMatDescr_t a, gs_solve* solve,
                         void* buffer) {
  VALID(buffer != nullptr);
  const Memory memory = memory_of(a, buffer);
  solve->op = op, solve->matrix = *a, solve->levels = memory.levels;
  if (a->format == CUSPARSE_FORMAT_COO) {
    const Indices offsets{memory.offsets, true, a->base};
    DONE(for_each(handle, a->rows + 1, RowOffsets{indices(a->offsets, a->offset, a->base), a->nnz, offsets}));
    solve->matrix.format = CUSPARSE_FORMAT_CSR;
    solve->matrix.offsets = memory.offsets, solve->matrix.offset = CUSPARSE_INDEX_64I;
  }
  solve->matrix.values = memory.values;
  DONE(from_runtime(cudaMemcpyAsync(memory.values, a->values, a->nnz * bytes_of(a->type), cudaMemcpyDeviceToDevice,
                                    handle->stream)));
  DONE(find_levels(handle, triangle_of(*solve, compressed<float>(*solve)), memory.levels));
  solve->analyzed = true;
  return CUSPARSE_STATUS_SUCCESS;
}

// `matrix` gives the dense operands for a type: a pair of what is given and what is wanted.
template <class Operands>
cusparseStatus_t solve_with(const char* function, cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                            const gs_solve& s, int64_t columns, Operands operands) {
  VALID(s.analyzed && s.op == op);
  if (columns == 0 || s.matrix.rows == 0) return CUSPARSE_STATUS_SUCCESS;
  return for_type(function, s.matrix.type, [&](auto type) {
    using T = decltype(type);
    const Sparse<T> a = compressed<T>(s);
    Solve<T> solve{a, triangle_of(s, a), s.levels, s.matrix.diagonal == CUSPARSE_DIAG_TYPE_UNIT, {}, {},
                   scalar<T>(handle, alpha), s.matrix.rows};
    operands(solve);
    solve_levels<<<unsigned(columns), THREADS, 0, handle->stream>>>(solve);
    return launched();
  });
}

cusparseStatus_t update(const char* function, cusparseHandle_t handle, gs_solve* s, const void* values, bool diagonal) {
  LIVE(handle);
  LIVE(s);
  VALID(values != nullptr && s->analyzed);
  if (!diagonal)
    return from_runtime(cudaMemcpyAsync(s->matrix.values, values, s->matrix.nnz * bytes_of(s->matrix.type),
                                        cudaMemcpyDeviceToDevice, handle->stream));
  return for_type(function, s->matrix.type, [&](auto type) {
    using T = decltype(type);
    return for_each(handle, s->matrix.rows, Diagonal<T>{compressed<T>(*s), static_cast<const T*>(values)});
  });
}

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

cusparseStatus_t size_in(cusparseConstSpMatDescr_t a, size_t* bytes) {
  VALID(bytes != nullptr);
  *bytes = memory_of(a, nullptr).bytes;
  return CUSPARSE_STATUS_SUCCESS;
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
  DONE(check("cusparseSpSV", handle, op, alpha, a, solve, compute));
  DONE(check_vectors(a, x, y, false));
  return size_in(a, bytes);
}

cusparseStatus_t cusparseSpSV_analysis(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                       cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x,
                                       cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpSVAlg_t,
                                       cusparseSpSVDescr_t solve, void* buffer) {
  DONE(check("cusparseSpSV", handle, op, alpha, a, solve, compute));
  DONE(check_vectors(a, x, y, false));
  return analyse(handle, op, a, solve, buffer);
}

cusparseStatus_t cusparseSpSV_solve(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                    cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y,
                                    cudaDataType compute, cusparseSpSVAlg_t, cusparseSpSVDescr_t solve) {
  DONE(check("cusparseSpSV", handle, op, alpha, a, solve, compute));
  DONE(check_vectors(a, x, y, true));
  return solve_with("cusparseSpSV", handle, op, alpha, *solve, 1, [&](auto& s) {
    using T = decltype(s.alpha.value);
    s.b = dense<T>(x), s.c = dense<T>(cusparseConstDnVecDescr_t(y));
  });
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
  DONE(check("cusparseSpSM", handle, op_a, alpha, a, solve, compute));
  DONE(check_dense(a, op_b, b, c, false));
  return size_in(a, bytes);
}

cusparseStatus_t cusparseSpSM_analysis(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                       const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                       cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpSMAlg_t,
                                       cusparseSpSMDescr_t solve, void* buffer) {
  DONE(check("cusparseSpSM", handle, op_a, alpha, a, solve, compute));
  DONE(check_dense(a, op_b, b, c, false));
  return analyse(handle, op_a, a, solve, buffer);
}

cusparseStatus_t cusparseSpSM_solve(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                    const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                    cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpSMAlg_t,
                                    cusparseSpSMDescr_t solve) {
  DONE(check("cusparseSpSM", handle, op_a, alpha, a, solve, compute));
  DONE(check_dense(a, op_b, b, c, true));
  return solve_with("cusparseSpSM", handle, op_a, alpha, *solve, c->columns, [&](auto& s) {
    using T = decltype(s.alpha.value);
    s.b = dense<T>(b, op_b), s.c = dense<T>(cusparseConstDnMatDescr_t(c));
  });
}

cusparseStatus_t cusparseSpSM_updateMatrix(cusparseHandle_t handle, cusparseSpSMDescr_t solve, void* values,
                                           cusparseSpSMUpdate_t part) {
  return update("cusparseSpSM", handle, solve, values, part == CUSPARSE_SPSM_UPDATE_DIAGONAL);
}

}  // extern "C"
