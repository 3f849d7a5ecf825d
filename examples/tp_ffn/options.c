// SPDX-License-Identifier: Apache-2.0
// The command line of tp_ffn (options.h): one table names every option, its bounds and its help.
#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SIDE_MAX 1048576

enum kind { KIND_NUMBER, KIND_TEXT, KIND_DTYPE };

struct option {
    const char *name;
    enum kind kind;
    size_t offset; // of the field in struct options
    int64_t min;   // of a number
    int64_t max;
    const char *value; // what the help calls it
    const char *help;
};

#define FIELD(name) offsetof(struct options, name)

static const struct option table[] = {
    {"--tokens", KIND_NUMBER, FIELD(tokens), 1, SIDE_MAX, "N", "rows of x and y (8192)"},
    {"--hidden", KIND_NUMBER, FIELD(hidden), 1, SIDE_MAX, "N", "columns of x and y (128)"},
    {"--intermediate", KIND_NUMBER, FIELD(intermediate), 1, SIDE_MAX, "N",
     "columns of gate and up (256)"},
    {"--dtype", KIND_DTYPE, FIELD(dtype), 0, 0, "T", "f32 or bf16 (f32)"},
    {"--chunks", KIND_NUMBER, FIELD(chunks), 1, 4096, "N",
     "parts of an AllReduce, at most one per token (one per 64, at most 8)"},
    {"--rounds", KIND_NUMBER, FIELD(rounds), 1, 1000000, "N", "how often to run and verify (3)"},
    {"--cores", KIND_NUMBER, FIELD(cores), 1, 128, "N", "matrix cores of a rank (1)"},
    {"--seed", KIND_NUMBER, FIELD(seed), 0, INT64_MAX, "N", "makes x and the weights (1)"},
    {"--in", KIND_TEXT, FIELD(in), 0, 0, "DIR", "reads x and the weights from .npy files"},
    {"--save", KIND_TEXT, FIELD(save), 0, 0, "DIR", "writes x, the weights and y as .npy files"},
    {"--trace", KIND_TEXT, FIELD(trace), 0, 0, "FILE", "writes a Chrome trace of the rounds"},
};

#define OPTION_COUNT (sizeof table / sizeof table[0])

// The option that the argument names; *value points behind '=', or is NULL.
static const struct option *find_option(const char *argument, const char **value)
{
    size_t length = strcspn(argument, "=");
    *value = argument[length] == '=' ? argument + length + 1 : NULL;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (strlen(table[i].name) == length && memcmp(table[i].name, argument, length) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

static int set_number(const struct option *option, const char *text, int64_t *field,
                      struct failure *failure)
{
    char *end = NULL;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    bool is_number = *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
    if (!is_number || number < option->min || number > option->max) {
        return fail(failure, EXIT_USAGE, "%s must be a number from %lld to %lld, not '%.40s'",
                    option->name, (long long)option->min, (long long)option->max, text);
    }
    *field = number;
    return 0;
}

static int set_dtype(const char *text, tern_dtype *field, struct failure *failure)
{
    if (strcmp(text, "f32") == 0 || strcmp(text, "float32") == 0) {
        *field = TERN_F32;
    } else if (strcmp(text, "bf16") == 0 || strcmp(text, "bfloat16") == 0) {
        *field = TERN_BF16;
    } else {
        return fail(failure, EXIT_USAGE, "--dtype must be f32 or bf16, not '%.40s'", text);
    }
    return 0;
}

static int set_option(const struct option *option, const char *text, struct options *options,
                      struct failure *failure)
{
    void *field = (char *)options + option->offset;
    if (*text == '\0') {
        return fail(failure, EXIT_USAGE, "%s is empty", option->name);
    }
    switch (option->kind) {
    case KIND_NUMBER:
        return set_number(option, text, field, failure);
    case KIND_DTYPE:
        return set_dtype(text, field, failure);
    case KIND_TEXT:
        *(const char **)field = text;
        return 0;
    }
    return 0;
}

int options_parse(int argc, char **argv, struct options *options, struct failure *failure)
{
    *options = (struct options){.rounds = 3, .cores = 1, .seed = -1, .dtype = TERN_F32};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            options->help = true;
            return 0;
        }
        const char *value = NULL;
        const struct option *option = find_option(argv[i], &value);
        if (option == NULL) {
            return fail(failure, EXIT_USAGE, "unknown argument '%.80s' (see tp_ffn --help)",
                        argv[i]);
        }
        if (value == NULL && ++i < argc) {
            value = argv[i];
        }
        if (value == NULL) {
            return fail(failure, EXIT_USAGE, "%s needs a value", option->name);
        }
        int status = set_option(option, value, options, failure);
        if (status != 0) {
            return status;
        }
    }
    options->seed_given = options->seed >= 0;
    if (options->seed_given && options->in != NULL) {
        return fail(failure, EXIT_USAGE, "--seed makes the input and --in reads it: give only one");
    }
    options->seed = options->seed_given ? options->seed : 1;
    return 0;
}

void options_print_help(FILE *file)
{
    fputs("usage: tern run -n RANKS tp_ffn [options]\n\n"
          "One tensor-parallel layer on RANKS chips: a row-parallel Linear, AllReduce,\n"
          "column-parallel gate and up (SwiGLU), row-parallel down, AllReduce:\n\n"
          "    a = x w_linear,  y = (silu(a w_gate) * (a w_up)) w_down\n\n"
          "RANKS must divide --hidden and --intermediate. The result is compared on every rank\n"
          "and in every round with a computation in double precision by one process.\n\n",
          file);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        char left[32];
        snprintf(left, sizeof left, "%s %s", table[i].name, table[i].value);
        fprintf(file, "  %-18s %s\n", left, table[i].help);
    }
    fputs("  -h, --help         this text\n\n"
          "Files in DIR: x, w_linear, w_gate, w_up, w_down (and y, written only), each NAME.npy.\n"
          "Exit status: 0 verified, 1 failed or wrong result, 2 wrong usage.\n",
          file);
}
