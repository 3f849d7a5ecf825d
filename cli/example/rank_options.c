// SPDX-License-Identifier: Apache-2.0
// The command line of `tern example rank`. Options may come in any order, so names are looked up
// when all are read.

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "example/rank.h"
#include "numbers.h"

enum { BLOCK_DIM_MAX = TERN_CORES_MAX / 3, THREADS_MAX = 64 };

const struct cli_command rank_command = {
    .name = "example rank",
    .head =
        "usage: tern run -n N -- tern example rank OPTIONS\n"
        "\n"
        "One rank of an example folder, as 'tern example run' starts it: places buffers, loads\n"
        "inputs, runs an orchestration and its kernels, saves outputs.\n"
        "\n",
    .foot = "\n"
            "Exit status: 0; 1 wrong usage, also an unknown buffer or token; 2 an input is not as\n"
            "large as its buffer; 3 no memory of the device; 4 a file cannot be read or written; 5 "
            "no\n"
            "job, no windows, or a rank that died; 6 the orchestration or a kernel failed.\n",
    .is_job = true,
};

// Buffers, tensors, scalars and kernels.

static struct rank_buffer *find(struct rank_job *job, const char *name)
{
    for (int i = 0; i < job->buffers_count; i++) {
        if (strcmp(job->buffers[i].name, name) == 0) {
            return &job->buffers[i];
        }
    }
    return NULL;
}

static bool is_token(const char *word)
{
    return strcmp(word, "nranks") == 0 || strcmp(word, "root") == 0 ||
           strcmp(word, "deviceCtx") == 0;
}

static int refuse_more(const char *option, int most)
{
    return cli_refuse(&rank_command, "%s: there are more than %d", option, most);
}

static int take_buffer(struct rank_job *job, const char *option, const char *value,
                       enum rank_place place)
{
    struct rank_buffer *buffer = &job->buffers[job->buffers_count];
    if (job->buffers_count == RANK_BUFFERS_MAX) {
        return refuse_more(option, RANK_BUFFERS_MAX);
    }
    int status = rank_parse_buffer(option, value, place, buffer);
    if (status >= 0) {
        return status;
    }
    if (find(job, buffer->name) != NULL) {
        return cli_refuse(&rank_command, "there are two buffers '%s'", buffer->name);
    }
    if (is_token(buffer->name)) {
        return cli_refuse(&rank_command, "no buffer can have the name of the token '%s'",
                          buffer->name);
    }
    job->buffers_count++;
    return -1;
}

static int take_window_buffer(void *into, const char *option, const char *value)
{
    return take_buffer(into, option, value, RANK_WINDOW);
}

static int take_device_buffer(void *into, const char *option, const char *value)
{
    return take_buffer(into, option, value, RANK_DEVICE);
}

static int take_argument(struct rank_job *job, const char *option, struct rank_argument argument)
{
    if (job->args_count == RANK_ARGS_MAX) {
        return refuse_more(option, RANK_ARGS_MAX);
    }
    job->args[job->args_count++] = argument;
    return -1;
}

static int take_tensor(void *into, const char *option, const char *value)
{
    struct rank_job *job = into;
    int status = take_buffer(job, option, value, RANK_HOST);
    return status >= 0 ? status
                       : take_argument(job, option,
                                       (struct rank_argument){
                                           .buffer = &job->buffers[job->buffers_count - 1],
                                           .is_tensor = true,
                                       });
}

static int take_scalar(void *into, const char *option, const char *value)
{
    struct rank_argument argument = {0};
    int status = rank_parse_scalar(option, value, &argument.value);
    return status >= 0 ? status : take_argument(into, option, argument);
}

static int take_word(void *into, const char *option, const char *value)
{
    return take_argument(into, option, (struct rank_argument){.word = value});
}

// Adds a word to a list of the job's.
static int keep(const char *option, const char *value, const char **words, int *count, int most)
{
    if (*count == most) {
        return refuse_more(option, most);
    }
    words[(*count)++] = value;
    return -1;
}

static int take_load(void *into, const char *option, const char *value)
{
    struct rank_job *job = into;
    return keep(option, value, job->loads, &job->loads_count, RANK_BUFFERS_MAX);
}

static int take_save(void *into, const char *option, const char *value)
{
    struct rank_job *job = into;
    return keep(option, value, job->saves, &job->saves_count, RANK_BUFFERS_MAX);
}

static int take_name(void *into, const char *option, const char *value)
{
    struct rank_job *job = into;
    return keep(option, value, job->names, &job->names_count, RANK_KERNELS_MAX);
}

// "3:WORD": the kernel's id and what follows, or the exit status as the result.
static int take_id(const char *option, const char *value, const char *form, int *id,
                   const char **rest)
{
    char digits[8];
    long number;
    size_t length = strcspn(value, ":");
    bool right = length < sizeof digits && value[length] == ':' && value[length + 1] != '\0';
    snprintf(digits, sizeof digits, "%.*s", right ? (int)length : 0, value);
    if (!right || !cli_read_number(digits, 0, RANK_KERNELS_MAX - 1, &number)) {
        return cli_refuse(&rank_command, "%s takes %s with an id from 0 to %d, not '%s'", option,
                          form, RANK_KERNELS_MAX - 1, value);
    }
    *id = (int)number;
    *rest = value + length + 1;
    return -1;
}

static struct rank_kernel *find_kernel(struct rank_job *job, int id)
{
    for (int i = 0; i < job->kernels_count; i++) {
        if (job->kernels[i].id == id) {
            return &job->kernels[i];
        }
    }
    return NULL;
}

static int take_kernel(void *into, const char *option, const char *value)
{
    struct rank_job *job = into;
    struct rank_kernel kernel = {0};
    int status = take_id(option, value, "id:file", &kernel.id, &kernel.file);
    if (status >= 0) {
        return status;
    }
    if (find_kernel(job, kernel.id) != NULL) {
        return cli_refuse(&rank_command, "there are two kernels with the id %d", kernel.id);
    }
    job->kernels[job->kernels_count++] = kernel;
    return -1;
}

// What can be known only at the end.

static int resolve_names(struct rank_job *job)
{
    for (int i = 0; i < job->loads_count + job->saves_count; i++) {
        bool loads = i < job->loads_count;
        const char *name = loads ? job->loads[i] : job->saves[i - job->loads_count];
        struct rank_buffer *buffer = find(job, name);
        if (buffer == NULL) {
            return cli_refuse(&rank_command, "%s '%s': there is no buffer of this name",
                              loads ? "--load" : "--save", name);
        }
        buffer->loads = buffer->loads || loads;
        buffer->saves = buffer->saves || !loads;
    }
    for (int i = 0; i < job->names_count; i++) {
        int id = -1;
        const char *name = "";
        int status = take_id("--kernel-name", job->names[i], "id:name", &id, &name);
        struct rank_kernel *kernel = status < 0 ? find_kernel(job, id) : NULL;
        if (status >= 0) {
            return status;
        }
        if (kernel == NULL) {
            return cli_refuse(&rank_command, "--kernel-name '%s': no kernel has the id %d",
                              job->names[i], id);
        }
        kernel->name = name;
    }
    return -1;
}

static int resolve_argument(struct rank_job *job, struct rank_argument *argument)
{
    if (argument->word == NULL) {
        return -1;
    }
    argument->buffer = find(job, argument->word);
    argument->is_context = strcmp(argument->word, "deviceCtx") == 0;
    argument->value = (uint64_t)(strcmp(argument->word, "root") == 0 ? job->root : job->nranks);
    return argument->buffer != NULL || is_token(argument->word)
               ? -1
               : cli_refuse(&rank_command,
                            "--arg '%s' is no buffer, and none of the tokens nranks, root and "
                            "deviceCtx",
                            argument->word);
}

static int resolve(struct rank_job *job)
{
    int tensors = 0;
    int words = 0;
    int status = resolve_names(job);
    for (int i = 0; i < job->args_count && status < 0; i++) {
        status = resolve_argument(job, &job->args[i]);
        tensors += job->args[i].is_tensor ? 1 : 0;
        words += job->args[i].word != NULL ? 1 : 0;
    }
    int scalars = job->args_count - tensors + (job->sizes ? tensors : 0);
    if (status < 0 && words > 0 && words < job->args_count) {
        return cli_refuse(&rank_command, "arguments are --arg, or --tensor and --scalar, not both");
    }
    if (status < 0 && (tensors > TERN_SIMPLER_ARG_TENSORS || scalars > TERN_SIMPLER_ARG_SCALARS)) {
        return cli_refuse(&rank_command,
                          "%d tensors and %d scalars are arguments; an orchestration has at most "
                          "%d and %d",
                          tensors, scalars, TERN_SIMPLER_ARG_TENSORS, TERN_SIMPLER_ARG_SCALARS);
    }
    return status;
}

static int check(struct rank_job *job)
{
    const struct {
        const char *option, *value;
    } needed[] = {
        {"--artifact-dir", job->artifacts},
        {"--data-dir", job->data},
        {"--orch-file", job->orchestration},
        {"--runtime", job->runtime},
    };
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        if (needed[i].value == NULL || needed[i].value[0] == '\0') {
            return cli_refuse(&rank_command, "%s is missing", needed[i].option);
        }
    }
    if (job->root >= job->nranks) {
        return cli_refuse(&rank_command, "--root is %ld; it must be below --nranks, which is %ld",
                          job->root, job->nranks);
    }
    return resolve(job);
}

int rank_read_options(int argc, char **argv, struct rank_job *job)
{
    *job = (struct rank_job){.nranks = 1, .aicpu_threads = 1, .block_dim = 1, .rounds = 1};
    const struct cli_option options[] = {
        {"--nranks N", "ranks, as many as 'tern run' starts (1)", .number = &job->nranks,
         .least = 1, .most = TERN_RANKS_MAX, .what = "a number of ranks"},
        {"--root R", "for the token root (0)", .number = &job->root, .most = TERN_RANKS_MAX - 1,
         .what = "a rank"},
        {"--artifact-dir D", "where files are whose names are not absolute",
         .word = &job->artifacts},
        {"--data-dir D", "inputs and outputs are D/rank_R/NAME.bin", .word = &job->data},
        {"--orch-file F", "the orchestration, a shared object", .word = &job->orchestration},
        {"--orch-func NAME", "its function (aicpu_orchestration_entry)", .word = &job->function},
        {"--config-func NAME", "its second one (aicpu_orchestration_config)", .word = &job->config},
        {"--runtime NAME", "what it was compiled for, as tern kernel-cc --runtime",
         .word = &job->runtime},
        {"--win-sync-prefix BYTES", "free bytes at the window's beginning (0)",
         .number = &job->prefix, .most = RANK_COUNT_MAX, .what = "a number of bytes"},
        {"--aicpu-thread-num A", "(1)", .number = &job->aicpu_threads, .most = THREADS_MAX},
        {"--block-dim B", "clusters of the chip, each 1 AIC and 2 AIV (1)",
         .number = &job->block_dim, .least = 1, .most = BLOCK_DIM_MAX},
        {"--orch-thread-num O", "(0)", .number = &job->orch_threads, .most = THREADS_MAX},
        {"--rounds K", "runs; each begins with the inputs of the files (1)", .number = &job->rounds,
         .least = 1, .most = INT_MAX},
        {"--win-buffer NAME:DTYPE:COUNT", "a buffer of the window, behind those before it",
         .take = take_window_buffer},
        {"--dev-buffer NAME:DTYPE:COUNT", "one of the device's memory", .take = take_device_buffer},
        {"--load NAME", "read this buffer from its file before", .take = take_load},
        {"--save NAME", "write it to its file afterwards", .take = take_save},
        {"--arg WORD", "an argument: a buffer, nranks, root or deviceCtx", .take = take_word},
        {"--tensor NAME:DTYPE:COUNT:in|out|inout", "an argument in memory of the host",
         .take = take_tensor},
        {"--scalar NAME:TYPE:VALUE", "an argument", .take = take_scalar},
        {"--tensor-sizes", "arguments are tensors, then the size of each in bytes, then scalars",
         .flag = &job->sizes},
        {"--kernel-bin ID:FILE", "a kernel, a shared object", .take = take_kernel},
        {"--kernel-name ID:NAME", "its name in traces and sentences", .take = take_name},
        {0},
    };
    int status = cli_read_options(&rank_command, options, argc, argv, job);
    if (status < 0 && optind < argc) {
        status = cli_refuse(&rank_command, "'%s' is no option", argv[optind]);
    }
    return status < 0 ? check(job) : status;
}
