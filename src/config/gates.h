/*
 * Gates: design choices that experiments compare, listed in gates.def.
 *
 * HAK_GATE(name) is an int. In the release build it is a constant, so a plain `if
 * (HAK_GATE(WARM_CAPACITY) == 1)` costs nothing and both sides still compile; in the lab build
 * (HAKMEM_LAB defined) it is a variable that hak_options_load() fills once from the environment,
 * and that nobody writes afterwards.
 *
 * HAK_GATE_MAX(name) is a constant in every build: the largest value that HAK_GATE(name) can have,
 * to dimension arrays with.
 */
#ifndef HAK_CONFIG_GATES_H
#define HAK_CONFIG_GATES_H

enum hak_gate {
#define HAK_GATE_ROW(name, def, min, max, help) HAK_GATE_INDEX_##name,
#include "config/gates.def"
#undef HAK_GATE_ROW
    HAK_GATE_COUNT,
};

enum {
#define HAK_GATE_ROW(name, def, min, max, help)                                                    \
    HAK_GATE_DEFAULT_##name = (def), HAK_GATE_LIMIT_##name = (max),
#include "config/gates.def"
#undef HAK_GATE_ROW
};

/* The values of the lab build, by enum hak_gate; the linker drops them from any other. */
extern int hak_gates[HAK_GATE_COUNT];

#ifdef HAKMEM_LAB
enum { HAK_LAB = 1 };
#define HAK_GATE(name) (hak_gates[HAK_GATE_INDEX_##name])
#define HAK_GATE_MAX(name) ((int)HAK_GATE_LIMIT_##name)
#else
enum { HAK_LAB = 0 };
#define HAK_GATE(name) ((int)HAK_GATE_DEFAULT_##name)
#define HAK_GATE_MAX(name) ((int)HAK_GATE_DEFAULT_##name)
#endif

#endif
