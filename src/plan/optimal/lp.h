// SPDX-License-Identifier: Apache-2.0
// Linear programs: minimise costs · x over x >= 0 and rows of the forms <=, = and >=. Solved by
// GLPK, which lp.c alone touches: it is loaded when the first program is made, so that tern runs
// without it. One thread at a time for each program.
#ifndef TERN_OPTIMAL_LP_H
#define TERN_OPTIMAL_LP_H

#include <stdbool.h>
#include <stdint.h>

#include "tern/status.h"

struct tern__lp;

enum tern__lp_row { TERN__LP_AT_MOST, TERN__LP_EQUAL, TERN__LP_AT_LEAST };

// An entry of the matrix.
struct tern__lp_entry {
    int at; // of a row's coefficients the column, of a column's the row
    double value;
};

// TERN_ERR_STATE, with a sentence, where GLPK is not installed.
int tern__lp_create(struct tern__lp **lp);
void tern__lp_destroy(struct tern__lp *lp); // NULL is allowed

// Each returns the index of what it adds, from 0.
int tern__lp_add_column(struct tern__lp *lp, double cost, const struct tern__lp_entry *entries,
                        int count);
int tern__lp_add_row(struct tern__lp *lp, enum tern__lp_row form, double bound,
                     const struct tern__lp_entry *entries, int count);

void tern__lp_set_cost(struct tern__lp *lp, int column, double cost);

// How long a search may go on. A pointer to it may be NULL: for any time.
struct tern__patience {
    int64_t deadline_ns;         // base/clock.h
    bool (*stop)(void *context); // true: not any longer; may be NULL
    void *context;
};

// TERN_ERR_TIMEOUT, or TERN_ERR_INTERRUPTED, where there is none left.
int tern__patience_left(const struct tern__patience *patience);

// Solves: from the last basis, which is good after a few new columns, or, afresh, after a
// simplification of the whole. TERN_ERR_TIMEOUT, TERN_ERR_INTERRUPTED where patience ends;
// TERN_ERR_STATE when there is no solution.
int tern__lp_solve(struct tern__lp *lp, const struct tern__patience *patience);
int tern__lp_solve_afresh(struct tern__lp *lp, const struct tern__patience *patience);

double tern__lp_objective(const struct tern__lp *lp);
double tern__lp_column(const struct tern__lp *lp, int column); // its value
double tern__lp_dual(const struct tern__lp *lp, int row);      // what one more of its bound costs

#endif
