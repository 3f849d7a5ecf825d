// SPDX-License-Identifier: Apache-2.0
// `tern info --words`: the words that commands take, one a line, from the same tables that the
// commands read. For the completion of shells and for scripts.

#include <stdio.h>
#include <string.h>

#include "info/info.h"
#include "tern/algo.h"
#include "tern/op.h"
#include "tern/topo.h"

static const char *const kinds[] = {
#define TERN_KIND(name, word, ...) word,
#include "tern/kind.def"
#undef TERN_KIND
    NULL};

static const char *const dtypes[] = {
#define TERN_DTYPE(name, word, number, size_bytes) word,
#define TERN_DTYPE_MOVED TERN_DTYPE
#include "tern/dtype.def"
#undef TERN_DTYPE
    NULL};

static const char *const ops[] = {
#define TERN_REDUCE_OP(name, word, number) word,
#include "tern/op.def"
#undef TERN_REDUCE_OP
    NULL};

static const struct list {
    const char *name;
    const char *const *words;
} lists[] = {{"kinds", kinds}, {"dtypes", dtypes}, {"ops", ops}};

// Each algorithm once, although several kinds may have one of its name.
static void print_algorithms(void)
{
    const char *printed[128];
    size_t count = 0;
    for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
        const char *name;
        for (int i = 0; (name = tern_algo_name((tern_plan_kind)kind, i)) != NULL; i++) {
            size_t known = 0;
            while (known < count && strcmp(printed[known], name) != 0) {
                known++;
            }
            if (known == count && count < sizeof printed / sizeof printed[0]) {
                printed[count++] = name;
                puts(name);
            }
        }
    }
    puts(TERN_ALGO_OPTIMAL);
}

// A preset's text is "name: what it is".
static void print_topologies(void)
{
    const char *preset;
    const char *form;
    for (int i = 0; (form = tern_topo_form(i)) != NULL; i++) {
        size_t length = strcspn(form, ":");
        printf("%.*s%s\n", (int)length, form, form[length] == ':' ? ":" : "");
    }
    for (int i = 0; (preset = tern_topo_preset(i)) != NULL; i++) {
        printf("%.*s\n", (int)strcspn(preset, ":"), preset);
    }
}

int cli_info_words(const char *list)
{
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        if (strcmp(list, lists[i].name) == 0) {
            for (const char *const *word = lists[i].words; *word != NULL; word++) {
                if (strcmp(*word, tern_reduce_op_name(TERN_FUNCTION)) != 0) { // not for commands
                    puts(*word);
                }
            }
            return 0;
        }
    }
    if (strcmp(list, "plan-kinds") == 0) {
        for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
            puts(tern_plan_kind_name((tern_plan_kind)kind));
        }
        return 0;
    }
    if (strcmp(list, "algorithms") == 0) {
        print_algorithms();
        return 0;
    }
    if (strcmp(list, "topologies") == 0) {
        print_topologies();
        return 0;
    }
    return -1;
}
