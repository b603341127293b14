// Rows of a triangle in levels: a level's rows need only those of levels before it.
#pragma once
#include "kernels.h"

namespace gs_sparse {

// In memory of the program's, which goes with an analysis to its solutions.
struct Levels {
  long long* starts;  // of each level in `order`; [rows] of them at most, and one behind the last
  long long* order;
  long long* level;   // of each row
  long long* count;   // one number: how many levels
};

inline Levels levels_in(Pieces& memory, long long rows) {
  return {memory.take<long long>(rows + 1), memory.take<long long>(rows), memory.take<long long>(rows),
          memory.take<long long>(1)};
}

// A compressed matrix's pattern, of whose triangle the levels are: `before` says which entries a row waits for.
struct Triangle {
  long long majors;
  Indices offsets, minors;
  bool lower;    // of op(A)
  bool flipped;  // a major is a column of op(A)
  __device__ bool used(long long major, long long minor) const {
    const long long row = flipped ? minor : major, column = flipped ? major : minor;
    return lower ? column < row : column > row;
  }
};

cusparseStatus_t find_levels(cusparseHandle_t handle, const Triangle& triangle, const Levels& levels);

}  // namespace gs_sparse
