#include "tiny/size_class.h"

#define CAPACITY(size, units) ((units) * 65536u / (size))
#define INVERSE(size) ((size) == 8 ? 0xffffffffu : (uint32_t)(((1ull << 32) + (size) / 8 - 1) / ((size) / 8)))

const struct hak_size_class hak_size_classes[HAK_CLASSES] = {
#define HAK_SIZE_CLASS(size, units) \
    {size, INVERSE(size), CAPACITY(size, units), units, (CAPACITY(size, units) + 63) / 64},
#include "tiny/size_class.def"
#undef HAK_SIZE_CLASS
};

_Static_assert(HAK_CLASSES == 9 + 3 * 8 + 5 * 16, "small ones, three doublings of eight, five of sixteen");
