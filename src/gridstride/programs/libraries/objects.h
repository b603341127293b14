// What a program makes of a library, and has to destroy by itself (objects.py).
#pragma once

enum { GS_OBJECT_BLAS = 7, GS_OBJECT_FFT, GS_OBJECT_RANDOM, GS_OBJECT_SPARSE };  // as OBJECT_ in runtime/runtime.h

// One of the GS_OBJECT_ was made (1) or destroyed (-1); in our libcudart.
extern "C" void gs_object(int kind, int change);
