// Host only, as cuda.h but for the types there.
#pragma once
#include <cuda.h>
