#pragma once

/// Marks an inline function that also runs on devices: one source gives the same bits on hosts and devices.
#ifdef __CUDACC__
#define SKYLINE_DEVICE_CODE __host__ __device__
#else
#define SKYLINE_DEVICE_CODE
#endif
