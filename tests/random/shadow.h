/*
 * The reference that the allocator is held against: one bit for each 8 bytes of address space
 * that belong to a live block. Setting a bit twice means that two blocks overlap.
 *
 * The bits are atomic with relaxed order: any thread may set and clear, and the reference must not
 * add an order between threads that the allocator itself fails to give.
 */
#ifndef HAKMEM_TESTS_SHADOW_H
#define HAKMEM_TESTS_SHADOW_H

#include <stddef.h>

/* Marks [block, block + size) as live; fails the test if any of it is live already. */
void shadow_add(const void *block, size_t size);

/* Takes the marks away; fails the test if any of it was not live. */
void shadow_remove(const void *block, size_t size);

#endif
