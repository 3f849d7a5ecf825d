// SPDX-License-Identifier: Apache-2.0
// The kernels of experts.c, and what lies where (experts.h).
#include "experts.h"

#include <string.h>

#include "kernels.h"
#include "tern/put.h"

static size_t box_at(const struct experts *all, enum box box, int rank)
{
    return JOB_SIGNAL_BYTES +
           ((size_t)box * (size_t)all->job->nranks + (size_t)rank) * all->box_bytes;
}

size_t experts_rows_at(const struct experts *all, enum box box, int rank)
{
    return box_at(all, box, rank) + EXPERTS_MAX * sizeof(int32_t);
}

tern_condition experts_came(const struct experts *all, enum box box, int rank)
{
    size_t offset = 256 + (size_t)((int)box * RANKS_MAX + rank) * LINE;
    return (tern_condition){all->job->window, offset, TERN_CMP_GE, all->round + 1};
}

// Tells a rank that this rank's box there is full.
static int tell(const struct experts *all, enum box box, int rank)
{
    tern_condition condition = experts_came(all, box, all->job->rank);
    return tern_signal_notify(all->job->window, rank, condition.offset_bytes, 1, TERN_NOTIFY_ADD);
}

int experts_chosen(const struct experts *all, int rank, int token, int choice)
{
    int experts = all->job->nranks * all->per_rank;
    uint64_t sender = (uint64_t)all->round * RANKS_MAX + (uint64_t)rank;
    uint64_t index = sender * (uint64_t)all->tokens + (uint64_t)token;
    return ((int)(kit_uniform(5, index) * experts) + choice * (experts / all->choices)) % experts;
}

float experts_share(int token, int choice)
{
    return 1.0f / (float)(1 + choice + token % 3);
}

// The tokens of this rank for rank `to`, in the order of their experts: calls visit for each.
static int visit_tokens(const struct experts *all, int to, void *arg,
                        int (*visit)(const struct experts *all, void *arg, int row, int token,
                                     int choice))
{
    int row = 0;
    for (int own = 0; own < all->per_rank; own++) {
        for (int token = 0; token < all->tokens; token++) {
            for (int choice = 0; choice < all->choices; choice++) {
                if (experts_chosen(all, all->job->rank, token, choice) ==
                    to * all->per_rank + own) {
                    TRY(visit(all, arg, row++, token, choice));
                }
            }
        }
    }
    return row;
}

struct sending {
    int to;
    int32_t counts[EXPERTS_MAX];
};

static int send_token(const struct experts *all, void *arg, int row, int token, int choice)
{
    struct sending *sending = arg;
    size_t row_bytes = (size_t)all->width * sizeof(float);
    int expert = experts_chosen(all, all->job->rank, token, choice);
    sending->counts[expert % all->per_rank]++;
    return tern_put(all->job->window, sending->to,
                    experts_rows_at(all, INBOX, all->job->rank) + (size_t)row * row_bytes,
                    all->x + (size_t)token * (size_t)all->width, row_bytes);
}

static int dispatch(const struct experts *all, int to)
{
    struct sending sending = {.to = to};
    TRY(visit_tokens(all, to, &sending, send_token));
    TRY(tern_put(all->job->window, to, box_at(all, INBOX, all->job->rank), sending.counts,
                 sizeof sending.counts));
    return tell(all, INBOX, to);
}

static int compute(const struct experts *all, int from, float *products)
{
    const int32_t *counts = job_at(all->job, all->job->rank, box_at(all, INBOX, from));
    const float *rows = job_at(all->job, all->job->rank, experts_rows_at(all, INBOX, from));
    size_t width = (size_t)all->width;
    for (int expert = 0; expert < all->per_rank; expert++) {
        const float *weights = all->weights + (size_t)expert * width * width;
        for (int32_t i = 0; i < counts[expert]; i++, rows += width, products += width) {
            memset(products, 0, width * sizeof *products);
            for (size_t k = 0; k < width; k++) {
                for (size_t column = 0; column < width; column++) {
                    products[column] += rows[k] * weights[k * width + column];
                }
            }
        }
    }
    return TERN_OK;
}

static int give_back(const struct experts *all, int to, const float *products)
{
    const int32_t *counts = job_at(all->job, all->job->rank, box_at(all, INBOX, to));
    size_t rows = 0;
    for (int expert = 0; expert < all->per_rank; expert++) {
        rows += (size_t)counts[expert];
    }
    TRY(tern_put(all->job->window, to, experts_rows_at(all, OUTBOX, all->job->rank), products,
                 rows * (size_t)all->width * sizeof(float)));
    return tell(all, OUTBOX, to);
}

static int add_product(const struct experts *all, void *arg, int row, int token, int choice)
{
    const float *rows = arg;
    float *y = all->y + (size_t)token * (size_t)all->width;
    for (int i = 0; i < all->width; i++) {
        y[i] += experts_share(token, choice) * rows[(size_t)row * (size_t)all->width + (size_t)i];
    }
    return TERN_OK;
}

static int combine(const struct experts *all)
{
    memset(all->y, 0, (size_t)all->tokens * (size_t)all->width * sizeof *all->y);
    for (int rank = 0; rank < all->job->nranks; rank++) {
        void *rows = job_at(all->job, all->job->rank, experts_rows_at(all, OUTBOX, rank));
        TRY(visit_tokens(all, rank, rows, add_product));
    }
    return TERN_OK;
}

static void report(int status)
{
    if (status < 0) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

static const struct experts *experts_of(const int64_t *args)
{
    return (const struct experts *)(intptr_t)args[0];
}

void kernel_dispatch(int64_t *args)
{
    report(dispatch(experts_of(args), (int)args[1]));
}

void kernel_compute(int64_t *args)
{
    report(compute(experts_of(args), (int)args[1], tern_region_data(kernel_region(args[3]))));
}

void kernel_return(int64_t *args)
{
    report(give_back(experts_of(args), (int)args[1], tern_region_data(kernel_region(args[3]))));
}

void kernel_combine(int64_t *args)
{
    report(combine(experts_of(args)));
}
