// The types that elements are stored in. ELEMENT is one of them; products and sums are of SUM, which is float but for
// double. BFLOAT16 is defined where an element is __nv_bfloat16, whose header takes a while to read.

#pragma once

#include <cuda_fp16.h>
#ifdef BFLOAT16
#include <cuda_bf16.h>
#endif

#ifndef SUM
#define SUM float
#endif
