// A stable order of entries by one or two numbers each.
#pragma once
#include "kernels.h"

namespace gs_sparse {

// What entries are ordered by; `second` may be none.
struct Keys {
  const int *first, *second;
};

// Which entry comes at each place: in `order` or `other`, of n numbers each, whichever it returns.
cusparseStatus_t sorted(cusparseHandle_t handle, Keys keys, int n, int* order, int* other, int** result);

}  // namespace gs_sparse
