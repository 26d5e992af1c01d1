#include "config/options.h"

#include "base/print.h"
#include "config/gates.h"
#include "config/table.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

struct hak_options hak_options = {
#define HAK_OPTION(field, name, type, unit, def, min, max, help) .field = (def),
#include "config/options.def"
#undef HAK_OPTION
};

int hak_gates[HAK_GATE_COUNT] = {
#define HAK_GATE_ROW(name, def, min, max, help) def,
#include "config/gates.def"
#undef HAK_GATE_ROW
};

/* Where the kernel put argc, argv and the environment; the dynamic loader's, null where unknown. */
extern void *__libc_stack_end __attribute__((weak));

enum { PREFIX_LENGTH = 7 }; /* of "HAKMEM_" */

static bool loaded;

static void option_store(const struct hak_row *row, int64_t value)
{
    void *slot = (char *)&hak_options + row->offset;
    switch (row->type) {
    case HAK_OPTION_bool:
        *(bool *)slot = value != 0;
        break;
    case HAK_OPTION_int:
    case HAK_OPTION_enum:
        *(int *)slot = (int)value;
        break;
    case HAK_OPTION_size:
        *(size_t *)slot = (size_t)value;
        break;
    }
}

static int64_t option_value(const struct hak_row *row)
{
    const void *slot = (const char *)&hak_options + row->offset;
    switch (row->type) {
    case HAK_OPTION_bool:
        return *(const bool *)slot;
    case HAK_OPTION_size:
        return (int64_t) * (const size_t *)slot;
    default:
        return *(const int *)slot;
    }
}

/*
 * The environment. Before libc has run its constructors `environ` is null, although the loader
 * already calls malloc; what the kernel left on the stack is the same list.
 */
static char **environment(void)
{
    if (environ != NULL || &__libc_stack_end == NULL || __libc_stack_end == NULL)
        return environ;
    char **stack = __libc_stack_end;
    intptr_t argc = (intptr_t)stack[0];
    if (argc < 0 || argc > 1 << 22 || stack[argc + 1] != NULL)
        return NULL;
    return stack + argc + 2;
}

/*
 * Number of single-character edits between two names, by rows; names longer than the row are far.
 */
static unsigned edit_distance(const char *a, size_t a_length, const char *b)
{
    unsigned char row[HAK_ROW_NAME + 1];
    size_t b_length = strlen(b);
    if (a_length >= sizeof row || b_length >= sizeof row)
        return sizeof row;
    for (size_t j = 0; j <= b_length; j++)
        row[j] = (unsigned char)j;
    for (size_t i = 1; i <= a_length; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned char)i;
        for (size_t j = 1; j <= b_length; j++) {
            unsigned change = diagonal + (a[i - 1] != b[j - 1]);
            unsigned gap = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1U;
            diagonal = row[j];
            row[j] = (unsigned char)(change < gap ? change : gap);
        }
    }
    return row[b_length];
}

/*
 * The row whose name was probably meant: one that goes on where name ends, or that a few edits turn
 * it into. NULL when none is so near.
 */
static const struct hak_row *nearest_row(const struct hak_row *rows, size_t count, const char *name,
                                         size_t length)
{
    size_t own = length - PREFIX_LENGTH;
    size_t best = own / 4 + 2;
    const struct hak_row *nearest = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t distance = edit_distance(name, length, rows[i].name);
        if (own >= 3 && strncmp(name, rows[i].name, length) == 0)
            distance = 1;
        if (distance < best) {
            best = distance;
            nearest = &rows[i];
        }
    }
    return nearest;
}

/*
 * A name that is no option. Only what looks like a slip of the keyboard is worth a line: the lab
 * and the tests have names of their own that programs under them inherit.
 */
static void report_unknown(const char *name, size_t length)
{
    static const char gate[] = "HAKMEM_GATE_";
    bool is_gate = strncmp(name, gate, sizeof gate - 1) == 0;
    const struct hak_row *meant;
    if (is_gate && !HAK_LAB) {
        hak_print(STDERR_FILENO, "hakmem: %.*s is not read: gates are open in the lab build only\n",
                  (int)length, name);
        return;
    }
    if (is_gate)
        meant = nearest_row(hak_gate_rows, HAK_GATE_COUNT, name, length);
    else
        meant = nearest_row(hak_option_rows, HAK_OPTION_COUNT, name, length);
    if (meant != NULL)
        hak_print(STDERR_FILENO, "hakmem: %.*s is not an option; did you mean %s?\n", (int)length,
                  name, meant->name);
    else if (is_gate)
        hak_print(STDERR_FILENO, "hakmem: %.*s is not a gate; HAKMEM_HELP=1 lists all of them\n",
                  (int)length, name);
}

static void report_refused(const struct hak_row *row, const char *text)
{
    char accepts[HAK_ROW_TEXT], def[HAK_ROW_TEXT];
    hak_row_accepts(row, accepts);
    hak_row_format(row, row->def, def);
    hak_print(STDERR_FILENO, "hakmem: %s=%.64s is not accepted: it takes %s; %s is used\n",
              row->name, text, accepts, def);
}

static const struct hak_row *find_row(const struct hak_row *rows, size_t count, const char *name,
                                      size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0)
            return &rows[i];
    return NULL;
}

/* One entry of the environment that starts with HAKMEM_. */
static void load_entry(const char *entry)
{
    size_t length = (size_t)(strchrnul(entry, '=') - entry);
    const char *text = entry[length] == '=' ? entry + length + 1 : "";
    const struct hak_row *row = find_row(hak_option_rows, HAK_OPTION_COUNT, entry, length);
    const struct hak_row *gate =
        HAK_LAB ? find_row(hak_gate_rows, HAK_GATE_COUNT, entry, length) : NULL;
    if (row == NULL && gate == NULL) {
        report_unknown(entry, length);
        return;
    }
    int64_t value;
    if (text[0] == '\0') /* set to nothing is as good as not set */
        return;
    if (!hak_row_parse(row ? row : gate, text, &value))
        report_refused(row ? row : gate, text);
    else if (row != NULL)
        option_store(row, value);
    else
        hak_gates[gate - hak_gate_rows] = (int)value;
}

void hak_options_load(void)
{
    if (loaded)
        return;
    int saved = errno;
    char **entries = NULL;
    if (getauxval(AT_SECURE) != 0)
        loaded = true;
    else
        entries = environment();
    if (entries != NULL) {
        loaded = true; /* first: a report must not come back here */
        for (; *entries != NULL; entries++)
            if (strncmp(*entries, "HAKMEM_", PREFIX_LENGTH) == 0)
                load_entry(*entries);
    }
    errno = saved;
}

static void help_row(const struct hak_row *row, int64_t value)
{
    char now[HAK_ROW_TEXT], accepts[HAK_ROW_TEXT], def[HAK_ROW_TEXT];
    hak_row_format(row, value, now);
    hak_row_format(row, row->def, def);
    hak_row_accepts(row, accepts);
    hak_print(STDOUT_FILENO, "%s=%s\n    %s\n    Takes %s; default %s.\n", row->name, now,
              row->help, accepts, def);
}

void hak_options_help(void)
{
    for (size_t i = 0; i < HAK_OPTION_COUNT; i++)
        help_row(&hak_option_rows[i], option_value(&hak_option_rows[i]));
    for (size_t i = 0; HAK_LAB && i < HAK_GATE_COUNT; i++)
        help_row(&hak_gate_rows[i], hak_gates[i]);
}
