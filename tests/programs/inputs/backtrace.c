/* A program that stops in a known place, for gdb. */
#include <stdlib.h>
#include <string.h>

struct item {
    int number;
    char *name;
    struct item *next;
};

static int innermost(struct item *list)
{
    int sum = 0;
    for (; list; list = list->next)
        sum += list->number + (int)strlen(list->name);
    return sum;
}

int main(void)
{
    struct item *list = NULL;
    for (int i = 0; i < 5; i++) {
        struct item *item = malloc(sizeof *item);
        item->number = i;
        item->name = strdup("name");
        item->next = list;
        list = item;
    }
    return innermost(list) == 30 ? 0 : 1;
}
