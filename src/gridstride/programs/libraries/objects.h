// What a library tells of: what a program makes of it and has to destroy by itself (objects.py), and calls.
#pragma once

enum { GS_OBJECT_BLAS = 8, GS_OBJECT_FFT, GS_OBJECT_RANDOM, GS_OBJECT_SPARSE };  // as OBJECT_ in runtime/runtime.h

// One of the GS_OBJECT_ was made (1) or destroyed (-1); in our libcudart.
extern "C" void gs_object(int kind, int change);

// Tells of a call of one of a library's functions, as its name begins; whether it is to fail. In our libcudart.
extern "C" int gs_library_call(const char* function, const char* library);
