// SPDX-License-Identifier: Apache-2.0
// Single elements that a kernel reads and writes by itself: of the face's GetValue and SetValue in
// checking mode, which sees them here.

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/public.h"
#include "isa/check.h"
#include "isa/view.h"
#include "tern/tile.h"

int tern_tile_is_checked(void)
{
    return tern__checking();
}

static int check_element(const char *call, const void *element)
{
    return element != NULL ? TERN_OK
                           : tern__fail(TERN_ERR_ARG, "%s: element must not be NULL", call);
}

static int check_index(const char *call, const char *of, int64_t index, int64_t count)
{
    return index >= 0 && index < count
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG,
                            "%s: element %" PRId64 " is outside of the %s, which has %" PRId64,
                            call, index, of, count);
}

// The element's place, and what checking mode makes of its use.
static int find_in_tile(const char *call, const tern_tile *tile, int64_t index, bool writes,
                        char **place)
{
    if (tile == NULL) {
        return tern__tile_check(call, "tile", NULL, TERN_F32); // which says so
    }
    TERN_TRY(tern__tile_check(call, "tile", tile, tile->dtype));
    TERN_TRY(check_index(call, "tile", index, (int64_t)tile->rows * tile->columns));
    if (tern__checking()) {
        tern__watch_element(writes ? "SetValue" : "GetValue", tile, index, writes);
    }
    *place = (char *)tile->data + index * (int64_t)tern_dtype_size(tile->dtype);
    return TERN_OK;
}

static int tile_get(const tern_tile *tile, int64_t index, void *element)
{
    char *place = NULL;
    TERN_TRY(check_element("tern_tile_get", element));
    TERN_TRY(find_in_tile("tern_tile_get", tile, index, false, &place));
    memcpy(element, place, tern_dtype_size(tile->dtype));
    return TERN_OK;
}

int tern_tile_get(const tern_tile *tile, int64_t index, void *element)
{
    return TERN__CALL(tile_get(tile, index, element));
}

static int tile_set(const tern_tile *tile, int64_t index, const void *element)
{
    char *place = NULL;
    TERN_TRY(check_element("tern_tile_set", element));
    TERN_TRY(find_in_tile("tern_tile_set", tile, index, true, &place));
    memcpy(place, element, tern_dtype_size(tile->dtype));
    return TERN_OK;
}

int tern_tile_set(const tern_tile *tile, int64_t index, const void *element)
{
    return TERN__CALL(tile_set(tile, index, element));
}

// The element alone, within what the shape and the strides of the tensor reach.
static int find_in_tensor(const char *call, const tern_tensor *tensor, int64_t index,
                          struct tern__view *view)
{
    static const int64_t one[5] = {1, 1, 1, 1, 1};
    TERN_TRY(tern__view_tensor(call, "tensor", tensor, NULL, view)); // numbers that fit
    int64_t reach = tern__shape_is_empty(view->shape) ? 0 : 1;
    for (int d = 0; d < 5 && reach > 0; d++) {
        reach += (view->shape[d] - 1) * view->stride[d];
    }
    TERN_TRY(check_index(call, "tensor", index, reach));
    tern_tensor element = *tensor;
    element.data = (char *)tensor->data + index * (int64_t)view->element_bytes;
    return tern__view_tensor(call, "tensor", &element, one, view);
}

static int tensor_get(const tern_tensor *tensor, int64_t index, void *element)
{
    struct tern__view view;
    TERN_TRY(check_element("tern_tensor_get_element", element));
    TERN_TRY(find_in_tensor("tern_tensor_get_element", tensor, index, &view));
    if (tern__checking()) {
        tern__watch_load("GetValue", &view, true); // the scalar unit sees its own stores
    }
    memcpy(element, view.data, view.element_bytes);
    return TERN_OK;
}

int tern_tensor_get_element(const tern_tensor *tensor, int64_t index, void *element)
{
    return TERN__CALL(tensor_get(tensor, index, element));
}

static int tensor_set(const tern_tensor *tensor, int64_t index, const void *element)
{
    struct tern__view view;
    TERN_TRY(check_element("tern_tensor_set_element", element));
    TERN_TRY(find_in_tensor("tern_tensor_set_element", tensor, index, &view));
    if (tern__checking()) {
        uint64_t value = 0;
        memcpy(&value, element, view.element_bytes);
        struct tern__view from = view;
        from.data = (char *)&value;
        from.window = NULL;
        return tern__watch_store("SetValue", &view, &from, TERN__WATCH_STORE, false);
    }
    memcpy(view.data, element, view.element_bytes);
    tern__owe_ring(view.window, view.rank);
    return TERN_OK;
}

int tern_tensor_set_element(const tern_tensor *tensor, int64_t index, const void *element)
{
    return TERN__CALL(tensor_set(tensor, index, element));
}
