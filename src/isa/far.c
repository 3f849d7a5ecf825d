// SPDX-License-Identifier: Apache-2.0
// Tensors in parts of a window that are on another machine: reached by put, put_add and get alone.

#include "isa/far.h"

#include <stdlib.h>

#include "base/error.h"

// Rows 0 to 3 of `to` and `from`, which lie beyond i: dimension 3, or one row by its elements.
struct plane {
    char *to;
    const char *from;
    tern_block block;
};

static void move_plane(const struct tern__view *to, const struct tern__view *from,
                       const struct plane *plane)
{
    if (to->far) {
        tern__window_xport(to->window, to->rank)->put_block(plane->to, plane->from, &plane->block);
    } else {
        tern__window_xport(from->window, from->rank)
            ->get_block(plane->from, plane->to, &plane->block);
    }
}

static bool lies_together(const struct tern__view *view, int64_t count)
{
    return count == 1 || view->stride[4] == 1;
}

void tern__far_copy(const struct tern__view *to, const struct tern__view *from)
{
    const int64_t *shape = from->shape;
    size_t element = to->element_bytes;
    bool whole_rows = lies_together(to, shape[4]) && lies_together(from, shape[4]);
    int d = whole_rows ? 3 : 4; // whose steps the rows of a block are
    const struct tern__view *far = to->far ? to : from;
    const struct tern__view *near = to->far ? from : to;
    struct plane plane = {
        .block = {.rows = (size_t)shape[d],
                  .row_bytes = whole_rows ? (size_t)shape[4] * element : element,
                  .window_stride_bytes = (size_t)far->stride[d] * element,
                  .local_stride_bytes = (size_t)near->stride[d] * element},
    };
    int64_t outer[5] = {shape[0], shape[1], shape[2], whole_rows ? 1 : shape[3], 1};
    int64_t i[4] = {0};
    do {
        plane.to = tern__view_row(to, i);
        plane.from = tern__view_row(from, i);
        move_plane(to, from, &plane);
    } while (tern__shape_next(outer, i));
}

int tern__far_refuse(const char *call, const char *name, const struct tern__view *view)
{
    const tern_window *window = view->window;
    return tern__fail(TERN_ERR_ARG,
                      "%s: %s is in rank %d's part of window %u, which is on machine %s and has no "
                      "address here; tern_put, tern_get and tern_tensor_put reach it",
                      call, name, view->rank, window->number,
                      tern__window_machine(window, view->rank));
}

int tern__far_fetch(const char *call, struct tern__view *view, char **memory)
{
    struct tern__view here = *view;
    size_t bytes = view->element_bytes;
    for (int d = 4; d >= 0; d--) {
        bytes += (size_t)(view->shape[d] - 1) * (size_t)view->stride[d] * view->element_bytes;
    }
    *memory = malloc(bytes);
    if (*memory == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "%s: no memory for %zu bytes of rank %d", call, bytes,
                          view->rank);
    }
    here.data = *memory;
    here.window = NULL;
    here.far = false;
    tern__far_copy(&here, view);
    int status = tern__window_sent(view->window, view->rank);
    *view = here;
    return status;
}
