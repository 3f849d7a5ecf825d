// SPDX-License-Identifier: Apache-2.0
// GLPK behind the few calls of lp.h. The library is found at run time; its header, where it was
// there at build time, states the types of its functions.

#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "plan/optimal/lp.h"

int tern__patience_left(const struct tern__patience *patience)
{
    if (patience != NULL && patience->stop != NULL && patience->stop(patience->context)) {
        return tern__fail(TERN_ERR_INTERRUPTED, "the planner was stopped");
    }
    if (patience != NULL && tern__now_ns() >= patience->deadline_ns) {
        return tern__fail(TERN_ERR_TIMEOUT, "the time for a plan is over");
    }
    return TERN_OK;
}

#if __has_include(<glpk.h>)
#include <dlfcn.h>
#include <glpk.h>
#include <pthread.h>

#define FUNCTIONS(X)                                                                               \
    X(glp_create_prob)                                                                             \
    X(glp_delete_prob)                                                                             \
    X(glp_add_rows)                                                                                \
    X(glp_add_cols)                                                                                \
    X(glp_set_row_bnds)                                                                            \
    X(glp_set_col_bnds)                                                                            \
    X(glp_set_obj_coef)                                                                            \
    X(glp_set_mat_row)                                                                             \
    X(glp_set_mat_col)                                                                             \
    X(glp_init_smcp)                                                                               \
    X(glp_simplex)                                                                                 \
    X(glp_get_status)                                                                              \
    X(glp_get_obj_val)                                                                             \
    X(glp_get_col_prim)                                                                            \
    X(glp_get_row_dual)                                                                            \
    X(glp_term_out)

// Bad numbers can send the solver round in circles; what it solves takes it a few for each row.
enum { ITERATIONS = 20000, ITERATIONS_EACH = 50 };

#define DECLARE(name) __typeof__(&(name)) name##_;
static struct {
    FUNCTIONS(DECLARE)
} glpk;
static bool loaded;

struct tern__lp {
    glp_prob *problem;
    int rows, columns;
    int *index; // room for the entries of one row or column, from 1
    double *value;
    int room;
};

static void load(void)
{
    void *library = dlopen("libglpk.so.40", RTLD_NOW | RTLD_LOCAL);
    bool all = library != NULL;
#define FIND(name)                                                                                 \
    *(void **)&glpk.name##_ = all ? dlsym(library, #name) : NULL;                                  \
    all = glpk.name##_ != NULL;
    FUNCTIONS(FIND)
    loaded = all;
}

int tern__lp_create(struct tern__lp **lp)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (!loaded) {
        return tern__fail(TERN_ERR_STATE,
                          "the planner solves linear programs with GLPK, and libglpk.so.40 is not "
                          "installed (Debian: libglpk40); the other algorithms need nothing");
    }
    struct tern__lp *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a linear program");
    }
    glpk.glp_term_out_(GLP_OFF);
    made->problem = glpk.glp_create_prob_();
    *lp = made;
    return TERN_OK;
}

void tern__lp_destroy(struct tern__lp *lp)
{
    if (lp != NULL) {
        glpk.glp_delete_prob_(lp->problem);
        free(lp->index);
        free(lp->value);
        free(lp);
    }
}

// GLPK counts from 1.
static int take_entries(struct tern__lp *lp, const struct tern__lp_entry *entries, int count)
{
    if (count >= lp->room) {
        int room = 2 * count + 16;
        int *index = realloc(lp->index, (size_t)room * sizeof *index);
        lp->index = index != NULL ? index : lp->index;
        double *value = realloc(lp->value, (size_t)room * sizeof *value);
        lp->value = value != NULL ? value : lp->value;
        if (index == NULL || value == NULL) {
            return tern__fail(TERN_ERR_MEMORY, "no memory for a linear program");
        }
        lp->room = room;
    }
    for (int i = 0; i < count; i++) {
        lp->index[i + 1] = entries[i].at + 1;
        lp->value[i + 1] = entries[i].value;
    }
    return TERN_OK;
}

int tern__lp_add_column(struct tern__lp *lp, double cost, const struct tern__lp_entry *entries,
                        int count)
{
    TERN_TRY(take_entries(lp, entries, count));
    int at = glpk.glp_add_cols_(lp->problem, 1);
    glpk.glp_set_col_bnds_(lp->problem, at, GLP_LO, 0, 0);
    glpk.glp_set_obj_coef_(lp->problem, at, cost);
    glpk.glp_set_mat_col_(lp->problem, at, count, lp->index, lp->value);
    return lp->columns++;
}

int tern__lp_add_row(struct tern__lp *lp, enum tern__lp_row form, double bound,
                     const struct tern__lp_entry *entries, int count)
{
    static const int forms[] = {GLP_UP, GLP_FX, GLP_LO};
    TERN_TRY(take_entries(lp, entries, count));
    int at = glpk.glp_add_rows_(lp->problem, 1);
    glpk.glp_set_row_bnds_(lp->problem, at, forms[form], bound, bound);
    glpk.glp_set_mat_row_(lp->problem, at, count, lp->index, lp->value);
    return lp->rows++;
}

void tern__lp_set_cost(struct tern__lp *lp, int column, double cost)
{
    glpk.glp_set_obj_coef_(lp->problem, column + 1, cost);
}

static int solve(struct tern__lp *lp, bool afresh, const struct tern__patience *patience)
{
    glp_smcp how;
    TERN_TRY(tern__patience_left(patience));
    glpk.glp_init_smcp_(&how);
    how.msg_lev = GLP_MSG_OFF;
    how.presolve = afresh ? GLP_ON : GLP_OFF;
    int64_t deadline_ns = patience != NULL ? patience->deadline_ns : INT64_MAX;
    how.tm_lim = tern__deadline_ms(deadline_ns, 1 << 30);
    how.it_lim = ITERATIONS + ITERATIONS_EACH * (lp->rows + lp->columns);
    int failed = glpk.glp_simplex_(lp->problem, &how);
    if (failed == GLP_ETMLIM || how.tm_lim == 0) {
        return tern__fail(TERN_ERR_TIMEOUT, "the time for a linear program is over");
    }
    if (failed != 0 || glpk.glp_get_status_(lp->problem) != GLP_OPT) {
        return tern__fail(TERN_ERR_STATE,
                          "GLPK found no solution of %d rows and %d columns (code %d)", lp->rows,
                          lp->columns, failed);
    }
    return TERN_OK;
}

int tern__lp_solve(struct tern__lp *lp, const struct tern__patience *patience)
{
    return solve(lp, false, patience);
}

int tern__lp_solve_afresh(struct tern__lp *lp, const struct tern__patience *patience)
{
    return solve(lp, true, patience);
}

double tern__lp_objective(const struct tern__lp *lp)
{
    return glpk.glp_get_obj_val_(lp->problem);
}

double tern__lp_column(const struct tern__lp *lp, int column)
{
    return glpk.glp_get_col_prim_(lp->problem, column + 1);
}

double tern__lp_dual(const struct tern__lp *lp, int row)
{
    return glpk.glp_get_row_dual_(lp->problem, row + 1);
}

#else

// Built without the header: as if the library were not there.

int tern__lp_create(struct tern__lp **lp)
{
    (void)lp;
    return tern__fail(TERN_ERR_STATE, "this tern was built without GLPK's header (Debian: "
                                      "libglpk-dev), which its planner needs");
}

void tern__lp_destroy(struct tern__lp *lp)
{
    (void)lp;
}

int tern__lp_add_column(struct tern__lp *lp, double cost, const struct tern__lp_entry *entries,
                        int count)
{
    (void)lp, (void)cost, (void)entries, (void)count;
    return TERN_ERR_STATE;
}

int tern__lp_add_row(struct tern__lp *lp, enum tern__lp_row form, double bound,
                     const struct tern__lp_entry *entries, int count)
{
    (void)lp, (void)form, (void)bound, (void)entries, (void)count;
    return TERN_ERR_STATE;
}

void tern__lp_set_cost(struct tern__lp *lp, int column, double cost)
{
    (void)lp, (void)column, (void)cost;
}

int tern__lp_solve(struct tern__lp *lp, const struct tern__patience *patience)
{
    (void)lp, (void)patience;
    return TERN_ERR_STATE;
}

int tern__lp_solve_afresh(struct tern__lp *lp, const struct tern__patience *patience)
{
    return tern__lp_solve(lp, patience);
}

double tern__lp_objective(const struct tern__lp *lp)
{
    (void)lp;
    return 0;
}

double tern__lp_column(const struct tern__lp *lp, int column)
{
    (void)lp, (void)column;
    return 0;
}

double tern__lp_dual(const struct tern__lp *lp, int row)
{
    (void)lp, (void)row;
    return 0;
}
#endif
