// SPDX-License-Identifier: Apache-2.0
// Assignments as bytes, and back.

#include "boot/assignment.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "sync/ctl.h"

#define ASSIGNMENT_MAGIC 0x6e677361u

struct head {
    uint32_t magic;
    uint32_t abi;
    uint32_t bytes; // of the strings
    int32_t numbers[12];
    uint8_t token[16];
};

static void write_string(FILE *file, const char *string)
{
    const char *word = string != NULL ? string : "";
    fwrite(word, 1, strlen(word) + 1, file);
}

int tern__assignment_write(const struct tern__assignment *assignment, char **bytes, size_t *size)
{
    struct head head = {.magic = ASSIGNMENT_MAGIC,
                        .abi = TERN__CTL_ABI,
                        .numbers = {assignment->machine, assignment->machines, assignment->nranks,
                                    assignment->first, assignment->count, assignment->label,
                                    assignment->bind, (int32_t)assignment->port, assignment->nargs,
                                    assignment->nvariables, assignment->told, assignment->trace}};
    memcpy(head.token, assignment->token, sizeof head.token);
    *bytes = NULL;
    FILE *file = open_memstream(bytes, size);
    if (file == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "tern_launch: no memory for what hosts are told");
    }
    fwrite(&head, 1, sizeof head, file);
    write_string(file, assignment->host);
    write_string(file, assignment->folder);
    write_string(file, assignment->output);
    write_string(file, assignment->speaker);
    write_string(file, assignment->addresses);
    for (int i = 0; i < assignment->nargs; i++) {
        write_string(file, assignment->args[i]);
    }
    for (int i = 0; i < assignment->nvariables; i++) {
        write_string(file, assignment->variables[i]);
    }
    if (fclose(file) != 0) {
        free(*bytes);
        return tern__fail(TERN_ERR_MEMORY, "tern_launch: no memory for what hosts are told");
    }
    if (*size - sizeof head > TERN__ASSIGNMENT_BYTES_MAX) {
        free(*bytes);
        return tern__fail(TERN_ERR_ARG,
                          "tern_launch: the arguments and the environment have more than %u bytes",
                          TERN__ASSIGNMENT_BYTES_MAX);
    }
    head.bytes = (uint32_t)(*size - sizeof head);
    memcpy(*bytes, &head, sizeof head);
    return TERN_OK;
}

static int read_exactly(int fd, void *into, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = read(fd, (char *)into + done, bytes - done);
        if (got == 0) {
            return tern__fail(TERN_ERR_PEER, "the head of the job said nothing: standard input "
                                             "has ended");
        }
        if (got < 0 && errno != EINTR) {
            return tern__fail_errno(TERN_ERR_SYSTEM, "cannot read standard input");
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return TERN_OK;
}

// The next string, or NULL.
static char *take_string(char **at, const char *end)
{
    char *string = *at;
    char *stop = string < end ? memchr(string, '\0', (size_t)(end - string)) : NULL;
    *at = stop != NULL ? stop + 1 : *at;
    return stop != NULL ? string : NULL;
}

static bool take_list(char **list, int count, char **at, const char *end)
{
    for (int i = 0; i < count; i++) {
        list[i] = take_string(at, end);
        if (list[i] == NULL) {
            return false;
        }
    }
    list[count] = NULL;
    return true;
}

// Points into `text` and into `lists`, which has room for both.
static bool take_strings(struct tern__assignment *assignment, char **lists, char *text,
                         const char *end)
{
    char *at = text;
    assignment->host = take_string(&at, end);
    assignment->folder = take_string(&at, end);
    assignment->output = take_string(&at, end);
    assignment->speaker = take_string(&at, end);
    assignment->addresses = take_string(&at, end);
    assignment->args = lists;
    assignment->variables = lists + assignment->nargs + 1;
    return assignment->addresses != NULL && take_list(lists, assignment->nargs, &at, end) &&
           take_list(lists + assignment->nargs + 1, assignment->nvariables, &at, end);
}

static bool is_sound(const struct tern__assignment *assignment, uint32_t bytes)
{
    return bytes <= TERN__ASSIGNMENT_BYTES_MAX && assignment->machine >= 0 &&
           assignment->machine < assignment->machines && assignment->nranks >= 1 &&
           assignment->nranks <= TERN_RANKS_MAX && assignment->first >= 0 &&
           assignment->count >= 1 && assignment->count <= assignment->nranks &&
           assignment->first <= assignment->nranks - assignment->count && assignment->nargs >= 1 &&
           assignment->nargs <= (int)bytes && assignment->nvariables >= 0 &&
           assignment->nvariables <= (int)bytes;
}

int tern__assignment_read(int fd, struct tern__assignment *assignment, void **memory)
{
    struct head head;
    TERN_TRY(read_exactly(fd, &head, sizeof head));
    if (head.magic != ASSIGNMENT_MAGIC || head.abi != TERN__CTL_ABI) {
        return tern__fail(TERN_ERR_REFUSED,
                          head.magic == ASSIGNMENT_MAGIC
                              ? "the head of the job runs another version of tern"
                              : "standard input does not come from the head of a job");
    }
    const int32_t *numbers = head.numbers;
    *assignment = (struct tern__assignment){.machine = numbers[0],
                                            .machines = numbers[1],
                                            .nranks = numbers[2],
                                            .first = numbers[3],
                                            .count = numbers[4],
                                            .label = numbers[5],
                                            .bind = numbers[6],
                                            .port = (uint32_t)numbers[7],
                                            .nargs = numbers[8],
                                            .nvariables = numbers[9],
                                            .told = numbers[10],
                                            .trace = numbers[11]};
    memcpy(assignment->token, head.token, sizeof assignment->token);
    if (!is_sound(assignment, head.bytes)) {
        return tern__fail(TERN_ERR_REFUSED, "the head of the job said something without sense");
    }
    size_t lists = (size_t)(assignment->nargs + assignment->nvariables + 2) * sizeof(char *);
    char *made = malloc(lists + head.bytes);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for what the head of the job says");
    }
    int status = read_exactly(fd, made + lists, head.bytes);
    if (status == TERN_OK &&
        !take_strings(assignment, (char **)(void *)made, made + lists, made + lists + head.bytes)) {
        status = tern__fail(TERN_ERR_REFUSED, "the head of the job said something without sense");
    }
    if (status != TERN_OK) {
        free(made);
        return status;
    }
    *memory = made;
    return TERN_OK;
}
