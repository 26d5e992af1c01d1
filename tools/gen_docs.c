/*
 * gen-docs FILE            writes docs/options.md, the page of all options and gates
 * gen-docs --compare FILE  exits with 1 when FILE is not what would be written
 *
 * The page comes from the library's own table, so it cannot say anything else than the parser.
 */
#include "config/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char introduction[] =
    "<!-- Written by tools/gen_docs.c from src/config/*.def: edit those and run `make docs`. -->\n"
    "# Options\n"
    "\n"
    "HAKMEM needs no settings. These environment variables are read once, when the library\n"
    "starts. `HAKMEM_HELP=1 prog` prints them with the values that `prog` would run with.\n"
    "\n"
    "A value that is not accepted is reported on stderr in one line, and the default is used. A\n"
    "name that looks like one of these misspelt is reported, too. A variable that is set to nothing\n"
    "counts as not set. Programs in secure execution (setuid, file capabilities) ignore all of\n"
    "them.\n"
    "\n"
    "Sizes are in bytes and take the suffixes `K`, `M` and `G` (1,024 and its powers). Switches\n"
    "take `0` or `1`; `no`, `yes`, `off`, `on`, `false` and `true` mean the same.\n";

static const char gates_introduction[] =
    "\n"
    "# Gates\n"
    "\n"
    "Gates are design choices that experiments compare. The release build has the defaults\n"
    "compiled in and does not read these variables; the lab build (`make lab`) does. They come\n"
    "and go with the experiments.\n";

static void write_table(FILE *out, const struct hak_row *rows, size_t count)
{
    fputs("\n| name | takes | default | meaning |\n|---|---|---|---|\n", out);
    for (size_t i = 0; i < count; i++) {
        char accepts[HAK_ROW_TEXT], def[HAK_ROW_TEXT];
        hak_row_accepts(&rows[i], accepts);
        hak_row_format(&rows[i], rows[i].def, def);
        fprintf(out, "| `%s` | ", rows[i].name);
        for (const char *c = accepts; *c != '\0'; c++) /* a bare '|' would end the cell */
            fprintf(out, *c == '|' ? ", " : "%c", *c);
        fprintf(out, " | `%s` | %s |\n", def, rows[i].help);
    }
}

static char *page_text(size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    if (out == NULL)
        return NULL;
    fputs(introduction, out);
    write_table(out, hak_option_rows, HAK_OPTION_COUNT);
    fputs(gates_introduction, out);
    write_table(out, hak_gate_rows, HAK_GATE_COUNT);
    return fclose(out) == 0 ? text : NULL;
}

static int fail(const char *path)
{
    fprintf(stderr, "gen-docs: %s: %s\n", path, strerror(errno));
    return EXIT_FAILURE;
}

static int compare(const char *path, const char *text, size_t length)
{
    FILE *in = fopen(path, "r");
    if (in == NULL)
        return fail(path);
    bool same = true;
    for (size_t i = 0; same && i < length; i++)
        same = getc(in) == (unsigned char)text[i];
    same = same && getc(in) == EOF;
    fclose(in);
    if (!same)
        fprintf(stderr, "gen-docs: %s is not what src/config/*.def say: run `make docs`\n", path);
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int rewrite(const char *path, const char *text, size_t length)
{
    FILE *out = fopen(path, "w");
    if (out == NULL)
        return fail(path);
    bool written = fwrite(text, 1, length, out) == length;
    return fclose(out) == 0 && written ? EXIT_SUCCESS : fail(path);
}

int main(int argc, char **argv)
{
    bool comparing = argc == 3 && strcmp(argv[1], "--compare") == 0;
    if (!comparing && (argc != 2 || argv[1][0] == '-')) {
        fputs("usage: gen-docs [--compare] FILE\n", stderr);
        return 2;
    }
    size_t length;
    char *text = page_text(&length);
    if (text == NULL)
        return fail("out of memory");
    int status = comparing ? compare(argv[2], text, length) : rewrite(argv[1], text, length);
    free(text);
    return status;
}
