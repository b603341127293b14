// std:: names from libcu++, which NVRTC knows as cuda::std.
#pragma once
namespace cuda { namespace std {} }
namespace std { using namespace ::cuda::std; }
