#include "tiny/size_class.h"

#define CAPACITY(size, units) ((units) * 65536u / (size))
#define INVERSE(size) ((size) == 8 ? 0xffffffffu : (uint32_t)(((1ull << 32) + (size) / 8 - 1) / ((size) / 8)))

const struct hak_size_class hak_size_classes[HAK_CLASSES] = {
#define HAK_SIZE_CLASS(size, units) \
    {size, INVERSE(size), CAPACITY(size, units), units, (CAPACITY(size, units) + 63) / 64},
#include "tiny/size_class.def"
#undef HAK_SIZE_CLASS
};

_Static_assert(HAK_CLASSES == 9 + 3 * 8 + 5 * 9, "small ones, three doublings of eight, five of nine");

uint8_t hak_mid_class_of[HAK_MID_MAX >> HAK_MID_STEP_SHIFT];

void hak_size_class_init(void)
{
    unsigned c = HAK_TINY_CLASSES;
    for (size_t i = HAK_TINY_MAX >> HAK_MID_STEP_SHIFT; i < sizeof hak_mid_class_of; i++) {
        c += hak_size_classes[c].size < (i + 1) << HAK_MID_STEP_SHIFT;
        hak_mid_class_of[i] = (uint8_t)c;
    }
}
