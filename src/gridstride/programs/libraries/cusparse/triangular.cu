// Triangular systems, with one right side or many: level by level, a block for each right side.
#include "triangular.h"

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

// A as it was analyzed: compressed, whichever format it had.
template <class T>
Sparse<T> compressed(const gs_solve& s) { return sparse<T>(&s.matrix, s.op); }

template <class T>
Triangle triangle_of(const gs_solve& s, const Sparse<T>& view) {
  const bool lower = (s.matrix.fill == CUSPARSE_FILL_MODE_LOWER) == (s.op == CUSPARSE_OPERATION_NON_TRANSPOSE);
  return {view.majors, view.offsets, view.minors, lower, view.flipped};
}

}  // namespace

cusparseStatus_t check_system(const char* function, cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                              cusparseConstSpMatDescr_t a, const gs_solve* solve, cudaDataType compute) {
  LIVE(handle);
  LIVE(a);
  LIVE(solve);
  VALID(is_op(op) && alpha != nullptr && a->rows == a->columns);
  return a->type == compute ? CUSPARSE_STATUS_SUCCESS : not_here(function, "operands and sums of different types");
}

cusparseStatus_t system_bytes(cusparseConstSpMatDescr_t a, size_t* bytes) {
  VALID(bytes != nullptr);
  *bytes = memory_of(a, nullptr).bytes;
  return CUSPARSE_STATUS_SUCCESS;
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

cusparseStatus_t solve_system(const char* function, cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                              const gs_solve& s, const cusparseDnMatDescr& b, cusparseOperation_t op_b,
                              const cusparseDnMatDescr& c) {
  VALID(s.analyzed && s.op == op && s.matrix.rows == c.rows);
  if (c.columns == 0 || s.matrix.rows == 0) return CUSPARSE_STATUS_SUCCESS;
  return for_type(function, s.matrix.type, [&](auto type) {
    using T = decltype(type);
    const Sparse<T> a = compressed<T>(s);
    const Solve<T> solve{a, triangle_of(s, a), s.levels, s.matrix.diagonal == CUSPARSE_DIAG_TYPE_UNIT,
                         dense<T>(&b, op_b), dense<T>(&c), scalar<T>(handle, alpha), s.matrix.rows};
    solve_levels<<<unsigned(c.columns), THREADS, 0, handle->stream>>>(solve);
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

}  // namespace gs_sparse
