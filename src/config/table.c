#include "config/table.h"

#include "base/print.h"
#include "config/options.h"

#include <string.h>

const struct hak_row hak_option_rows[HAK_OPTION_COUNT] = {
#define HAK_OPTION(field, name, type, unit, def, min, max, help)                                   \
    {def, min, max, offsetof(struct hak_options, field), HAK_OPTION_##type, name, unit, help},
#include "config/options.def"
#undef HAK_OPTION
};

const struct hak_row hak_gate_rows[HAK_GATE_COUNT] = {
#define HAK_GATE_ROW(name, def, min, max, help)                                                    \
    {def, min, max, 0, HAK_OPTION_int, "HAKMEM_GATE_" #name, "", help},
#include "config/gates.def"
#undef HAK_GATE_ROW
};

/* A text that is too long would end up without its end, unnoticed. */
#define CHECK_TEXT(text, limit) _Static_assert(sizeof(text) <= (limit), "text too long: " text)
#define CHECK_RANGE(low, value, high, name)                                                        \
    _Static_assert((low) <= (value) && (value) <= (high), name ": default out of range")
#define HAK_OPTION(field, name, type, unit, def, min, max, help)                                   \
    CHECK_TEXT(name, HAK_ROW_NAME);                                                                \
    CHECK_TEXT(unit, HAK_ROW_UNIT);                                                                \
    CHECK_TEXT(help, HAK_ROW_HELP);                                                                \
    CHECK_RANGE(min, def, max, name);
#include "config/options.def"
#undef HAK_OPTION
#define HAK_GATE_ROW(name, def, min, max, help)                                                    \
    CHECK_TEXT("HAKMEM_GATE_" #name, HAK_ROW_NAME);                                                \
    CHECK_TEXT(help, HAK_ROW_HELP);                                                                \
    CHECK_RANGE(min, def, max, #name);
#include "config/gates.def"
#undef HAK_GATE_ROW

/* The index of text in a list of words split by '|', or -1. */
static int word_index(const char *words, const char *text)
{
    size_t length = strlen(text);
    for (int index = 0;; index++) {
        const char *end = strchrnul(words, '|');
        if ((size_t)(end - words) == length && memcmp(words, text, length) == 0)
            return index;
        if (*end == '\0')
            return -1;
        words = end + 1;
    }
}

static bool parse_bool(const char *text, int64_t *value)
{
    int index = word_index("0|1|no|yes|off|on|false|true", text);
    if (index < 0)
        return false;
    *value = index & 1;
    return true;
}

/* A decimal number with an optional minus; *rest is what follows it. */
static bool parse_number(const char *text, int64_t *value, const char **rest)
{
    bool negative = *text == '-';
    text += negative;
    if (*text < '0' || *text > '9')
        return false;
    int64_t number = 0;
    for (; *text >= '0' && *text <= '9'; text++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *text - '0', &number))
            return false;
    }
    *value = negative ? -number : number;
    *rest = text;
    return true;
}

/* A number of bytes with an optional K, M or G. */
static bool parse_size(const char *text, int64_t *value)
{
    int64_t number;
    const char *rest;
    if (!parse_number(text, &number, &rest))
        return false;
    if (*rest != '\0') {
        int power = word_index("K|M|G|k|m|g", rest);
        if (power < 0 || __builtin_mul_overflow(number, (int64_t)1024 << 10 * (power % 3), &number))
            return false;
    }
    *value = number;
    return true;
}

bool hak_row_parse(const struct hak_row *row, const char *text, int64_t *value)
{
    int64_t number = 0;
    const char *rest = "";
    bool understood = false;
    switch (row->type) {
    case HAK_OPTION_bool:
        understood = parse_bool(text, &number);
        break;
    case HAK_OPTION_int:
        understood = parse_number(text, &number, &rest) && *rest == '\0';
        break;
    case HAK_OPTION_size:
        understood = parse_size(text, &number);
        break;
    case HAK_OPTION_enum:
        number = word_index(row->unit, text);
        understood = number >= 0;
        break;
    }
    if (!understood || number < row->min || number > row->max)
        return false;
    *value = number;
    return true;
}

static void format_size(int64_t value, char out[HAK_ROW_TEXT])
{
    static const char suffix[] = {'\0', 'K', 'M', 'G'};
    unsigned power = 0;
    while (power < 3 && value != 0 && value % 1024 == 0) {
        value /= 1024;
        power++;
    }
    hak_format(out, HAK_ROW_TEXT, "%lld%c", (long long)value, suffix[power]);
}

static void format_word(const char *words, int64_t index, char out[HAK_ROW_TEXT])
{
    for (; index > 0 && *strchrnul(words, '|') != '\0'; index--)
        words = strchrnul(words, '|') + 1;
    hak_format(out, HAK_ROW_TEXT, "%.*s", (int)(strchrnul(words, '|') - words), words);
}

void hak_row_format(const struct hak_row *row, int64_t value, char out[HAK_ROW_TEXT])
{
    if (row->type == HAK_OPTION_size)
        format_size(value, out);
    else if (row->type == HAK_OPTION_enum)
        format_word(row->unit, value, out);
    else
        hak_format(out, HAK_ROW_TEXT, "%lld", (long long)value);
}

void hak_row_accepts(const struct hak_row *row, char out[HAK_ROW_TEXT])
{
    char low[HAK_ROW_TEXT], high[HAK_ROW_TEXT];
    hak_row_format(row, row->min, low);
    hak_row_format(row, row->max, high);
    switch (row->type) {
    case HAK_OPTION_bool:
        hak_format(out, HAK_ROW_TEXT, "0 or 1");
        break;
    case HAK_OPTION_int:
        hak_format(out, HAK_ROW_TEXT, "an integer from %s to %s%s%s%s", low, high,
                   row->unit[0] ? " (" : "", row->unit, row->unit[0] ? ")" : "");
        break;
    case HAK_OPTION_size:
        hak_format(out, HAK_ROW_TEXT, "a size from %s to %s (bytes; suffixes K, M, G)", low, high);
        break;
    case HAK_OPTION_enum:
        hak_format(out, HAK_ROW_TEXT, "one of %s", row->unit);
        break;
    }
}
