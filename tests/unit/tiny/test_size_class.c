#include "tiny/size_class.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void every_size_gets_the_smallest_class_that_fits(void **state)
{
    (void)state;
    for (size_t size = 0; size <= HAK_MID_MAX; size++) {
        unsigned c = hak_size_class(size);
        assert_true(c < HAK_CLASSES);
        assert_true(hak_size_classes[c].size >= size);
        if (c > 0)
            assert_true(hak_size_classes[c - 1].size < size);
    }
}

static void waste_above_128_is_at_most_an_eighth(void **state)
{
    (void)state;
    for (size_t size = 129; size <= HAK_MID_MAX; size++) {
        size_t block = hak_size_classes[hak_size_class(size)].size;
        assert_true((block - size) * 8 <= size);
    }
}

static void classes_grow_and_are_aligned(void **state)
{
    (void)state;
    assert_int_equal(hak_size_classes[0].size, 8);
    for (unsigned c = 1; c < HAK_CLASSES; c++) {
        assert_true(hak_size_classes[c].size > hak_size_classes[c - 1].size);
        assert_int_equal(hak_size_classes[c].size % 16, 0);
    }
    assert_int_equal(hak_size_classes[HAK_TINY_CLASSES - 1].size, HAK_TINY_MAX);
    assert_int_equal(hak_size_classes[HAK_CLASSES - 1].size, HAK_MID_MAX);
}

static void geometry_agrees_with_itself(void **state)
{
    (void)state;
    for (unsigned c = 0; c < HAK_CLASSES; c++) {
        const struct hak_size_class *class = &hak_size_classes[c];
        size_t bytes = (size_t)class->units << 16;
        assert_int_equal(class->capacity, bytes / class->size);
        assert_true(class->words * 64 >= class->capacity);
        assert_true((class->words - 1) * 64 < class->capacity);
    }
}

/* The division by multiplying, at every byte of every class's slab. */
static void block_index_divides_exactly(void **state)
{
    (void)state;
    for (unsigned c = 0; c < HAK_CLASSES; c++) {
        const struct hak_size_class *class = &hak_size_classes[c];
        size_t bytes = (size_t)class->units << 16;
        for (size_t offset = 0; offset < bytes; offset++)
            if (hak_block_index(class, offset) != offset / class->size)
                fail_msg("class %u, offset %zu", c, offset);
    }
}

int main(void)
{
    hak_size_class_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_gets_the_smallest_class_that_fits),
        cmocka_unit_test(waste_above_128_is_at_most_an_eighth),
        cmocka_unit_test(classes_grow_and_are_aligned),
        cmocka_unit_test(geometry_agrees_with_itself),
        cmocka_unit_test(block_index_divides_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
