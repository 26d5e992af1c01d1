/* Bit counting that the compiler's built-in would call a library function for on the oldest x86-64. */
#ifndef HAK_BASE_BITS_H
#define HAK_BASE_BITS_H

#include "base/attr.h"

/* Number of set bits: sums in pairs, nibbles, bytes, then all bytes by a multiplication (Knuth, The
 * Art of Computer Programming 4A, 7.1.3). */
HAK_INLINE uint32_t hak_popcount(uint64_t x)
{
    x -= x >> 1 & 0x5555555555555555ull;
    x = (x & 0x3333333333333333ull) + (x >> 2 & 0x3333333333333333ull);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full;
    return (uint32_t)(x * 0x0101010101010101ull >> 56);
}

#endif
