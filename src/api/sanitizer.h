/*
 * Refusal to share a process with a sanitizer runtime: both want to be malloc, and a sanitizer
 * that does not see the allocations reports nonsense or nothing.
 */
#ifndef HAK_API_SANITIZER_H
#define HAK_API_SANITIZER_H

#ifdef HAKMEM_NO_LIBC_NAMES
/* This build leaves malloc to others, so that it can be examined by a sanitizer itself. */
static inline void hak_sanitizer_refuse(void) {}
#else
/*
 * Prints one line on stderr and ends the process with status 1 when the runtime of a sanitizer that
 * replaces malloc is present. Allocates nothing; the first thing that the library does.
 */
void hak_sanitizer_refuse(void) __attribute__((cold));
#endif

#endif
