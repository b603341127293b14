// memcpy, memset and memcmp are built into NVRTC.
#pragma once
#include <stddef.h>
