/*
 * Options: what a user may set through HAKMEM_* names, listed in options.def.
 *
 * hak_options is valid, with the defaults, before anything has run. It is written only while
 * hak_options_load() runs and read without synchronization afterwards; slow paths may read it,
 * the fast path never does.
 */
#ifndef HAK_CONFIG_OPTIONS_H
#define HAK_CONFIG_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum hak_purge { HAK_PURGE_DONTNEED, HAK_PURGE_FREE };
enum hak_thp { HAK_THP_NEVER, HAK_THP_AUTO, HAK_THP_ALWAYS };

#define HAK_OPTION_C_bool bool
#define HAK_OPTION_C_int int
#define HAK_OPTION_C_size size_t
#define HAK_OPTION_C_enum int

struct hak_options {
#define HAK_OPTION(field, name, type, unit, def, min, max, help) HAK_OPTION_C_##type field;
#include "config/options.def"
#undef HAK_OPTION
};

extern struct hak_options hak_options;

/*
 * Reads the environment into hak_options and, in the lab build, into the gates. The first call that
 * finds an environment does the work; later ones return at once. A value that is not accepted is
 * reported in one line on stderr and its default stays; so is a name that looks like an option's
 * misspelt. In secure execution (setuid, file capabilities) the environment is not looked at.
 *
 * Allocates nothing, keeps errno. The first call must not run at the same time as another one: it
 * belongs into the start of the library, which has one thread or holds a lock.
 */
void hak_options_load(void) __attribute__((cold));

/* Lists every option, and in the lab build every gate, with its value on stdout. */
void hak_options_help(void) __attribute__((cold));

#endif
