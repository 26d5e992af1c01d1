/*
 * The rows of options.def and gates.def as data, with the pure functions that read and write values
 * in words. Called by the loader, by HAKMEM_HELP and by the generator of docs/options.md; no state,
 * so any thread may call them.
 */
#ifndef HAK_CONFIG_TABLE_H
#define HAK_CONFIG_TABLE_H

#include "config/gates.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hak_option_type {
    HAK_OPTION_bool,
    HAK_OPTION_int,
    HAK_OPTION_size,
    HAK_OPTION_enum,
};

/* Longest texts of a row, and what hak_row_format and hak_row_accepts write, with their ends. */
enum { HAK_ROW_NAME = 32, HAK_ROW_UNIT = 24, HAK_ROW_HELP = 108, HAK_ROW_TEXT = 96 };

/* Texts are arrays, not pointers, so that the table needs no relocation and stays out of memory. */
struct hak_row {
    int64_t def, min, max;
    uint16_t offset; /* of the field in struct hak_options; 0 for a gate */
    uint16_t type;   /* enum hak_option_type */
    char name[HAK_ROW_NAME];
    char unit[HAK_ROW_UNIT];
    char help[HAK_ROW_HELP];
};

enum {
#define HAK_OPTION(field, name, type, unit, def, min, max, help) HAK_ROW_##field,
#include "config/options.def"
#undef HAK_OPTION
    HAK_OPTION_COUNT,
};

extern const struct hak_row hak_option_rows[HAK_OPTION_COUNT];
extern const struct hak_row hak_gate_rows[HAK_GATE_COUNT];

/*
 * Reads text as a value of the row. True and *value set when it is one and in range; false and
 * *value untouched otherwise.
 */
bool hak_row_parse(const struct hak_row *row, const char *text, int64_t *value);

/* Writes a value as the user would type it ("32K", "auto", "500") into out. */
void hak_row_format(const struct hak_row *row, int64_t value, char out[HAK_ROW_TEXT]);

/* Writes what the row accepts ("an integer from -1 to 86400000 (ms)") into out. */
void hak_row_accepts(const struct hak_row *row, char out[HAK_ROW_TEXT]);

#endif
