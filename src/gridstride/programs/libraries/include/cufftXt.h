/* What includes cufftXt.h for cufft.h's functions gets them. Those of several GPUs, halves and callbacks are not there. */
#ifndef _CUFFTXT_H_
#define _CUFFTXT_H_

#include "cufft.h"

#endif
