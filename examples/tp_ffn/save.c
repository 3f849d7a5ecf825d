// SPDX-License-Identifier: Apache-2.0
// --save (save.h).
#include "save.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "element.h"

static int write_matrix(const char *folder, const char *name, size_t rows, size_t cols,
                        const float *values, struct failure *failure)
{
    char path[NPY_PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s.npy", folder, name);
    if (length < 0 || (size_t)length >= sizeof path) {
        return fail(failure, EXIT_FAILED, "the path of --save is longer than %d bytes",
                    NPY_PATH_MAX - 1);
    }
    return npy_write(path, rows, cols, values, failure);
}

int save_inputs(const struct source *source, const char *folder, struct failure *failure)
{
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return fail(failure, EXIT_FAILED, "%s: cannot be created: %s", folder, strerror(errno));
    }
    for (enum matrix m = 0; m < MATRIX_COUNT; m++) {
        float *values = source_read_whole(source, m, failure);
        if (values == NULL) {
            return failure->exit_status;
        }
        int status = write_matrix(folder, matrix_name(m), matrix_rows(&source->shape, m),
                                  matrix_cols(&source->shape, m), values, failure);
        free(values);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

int save_y(const struct shape *shape, const void *y, const char *folder, struct failure *failure)
{
    float *values = allocate(shape->tokens * shape->hidden, sizeof *values, failure);
    if (values == NULL) {
        return failure->exit_status;
    }
    elements_unpack(shape->dtype, y, values, shape->tokens * shape->hidden);
    int status = write_matrix(folder, "y", shape->tokens, shape->hidden, values, failure);
    free(values);
    return status;
}
