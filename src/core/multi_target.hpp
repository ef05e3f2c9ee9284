#pragma once

/// Builds a function for AVX-512, AVX2 and plain x86-64, chosen when the program starts. Its file needs
/// -ffp-contract=off, so that each of them rounds alike.
#if defined(__x86_64__) && !defined(__clang__)
#define SKYLINE_MULTI_TARGET __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define SKYLINE_MULTI_TARGET
#endif
/// A function that such a one calls must be inlined into it, or it is built for plain x86-64 alone.
#define SKYLINE_INLINE inline __attribute__((always_inline))
#define SKYLINE_INLINED __attribute__((always_inline))  // written after a lambda's parameters
