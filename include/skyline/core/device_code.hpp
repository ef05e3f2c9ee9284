#pragma once

/// Marks an inline function that devices run too: the same source gives the same bits on both.
#ifdef __CUDACC__
#define SKYLINE_DEVICE_CODE __host__ __device__
#else
#define SKYLINE_DEVICE_CODE
#endif
