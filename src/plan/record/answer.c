// SPDX-License-Identifier: Apache-2.0
// What the child of a recording sends back: a status, then the text of the plan or the sentence.

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "plan/record/record.h"

static void send_all(int fd, const void *bytes, size_t count)
{
    const char *next = bytes;
    while (count > 0) {
        ssize_t sent = write(fd, next, count);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return;
        }
        next += sent;
        count -= (size_t)sent;
    }
}

void tern__record_send(const struct recording *recording, int32_t status, const char *text,
                       size_t length)
{
    send_all(recording->answer_fd, &status, sizeof status);
    send_all(recording->answer_fd, text, length);
}

void tern__record_send_sentence(const struct recording *recording, int32_t status)
{
    char sentence[TERN_ERROR_BYTES];
    size_t more = recording->findings > 1 ? recording->findings - 1 : 0;
    snprintf(sentence, sizeof sentence, "%s",
             recording->findings > 0 ? recording->text : tern_last_error());
    size_t used = strlen(sentence);
    if (more > 0 && used < sizeof sentence) {
        snprintf(sentence + used, sizeof sentence - used, " (and %zu more)", more);
    }
    tern__record_send(recording, status, sentence, strlen(sentence));
}

void tern__record_give_up(const struct recording *recording)
{
    tern__record_send_sentence(recording, recording->status);
    _exit(0);
}
