/* Questions about a pointer that a program handed in. */
#ifndef HAK_CORE_POINTER_H
#define HAK_CORE_POINTER_H

#include "tiny/heap.h"

/* Usable bytes of the block that p starts; aborts when none does. caller: for the message. */
size_t hak_pointer_usable(uintptr_t p, uint32_t word, const void *caller);

/* Makes the block of so many usable bytes size bytes long where it is or, a large one, where its pages
 * can move to. NULL, with nothing done: it must be copied. */
void *hak_realloc_in_place(uintptr_t p, uint32_t word, size_t usable, size_t size, const void *caller);

/* Aborts with what is wrong with p, whose unit-map word is 0: memory freed before, the inside of a
 * large block, or none of ours. */
_Noreturn void hak_pointer_abort(uintptr_t p, const void *caller);

#endif
