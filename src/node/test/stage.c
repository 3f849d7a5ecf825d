// SPDX-License-Identifier: Apache-2.0
// Chips that cannot load from any memory but their own, as on other machines: what their tasks read
// and write is copied, whatever form it has, and not a byte beside it.
#include "support/cmocka.h"

#include "kit.h"
#include "node/stage.h"
#include "support/random.h"

enum { X = 6, Y = 7, Z = 9, ELEMENTS = X * Y * Z, TASKS = 150 };

// Adds args[1] to each element, whatever the strides.
static void add(int64_t *args)
{
    const tern_region *region = region_of(args[0]);
    float *data = tern_region_data(region);
    uint32_t index[TERN_REGION_DIMS_MAX] = {0};
    for (uint64_t n = 0; n < tern_region_count(region); n++) {
        uint64_t at = 0;
        for (uint32_t i = 0; i < region->ndims; i++) {
            at += (uint64_t)index[i] * region->stride[i];
        }
        data[at] += (float)args[1];
        for (uint32_t i = region->ndims; i-- > 0 && ++index[i] == region->shape[i];) {
            index[i] = 0;
        }
    }
}

// to = from * 2
static void twice(int64_t *args)
{
    for (uint64_t i = 0; i < tern_region_count(region_of(args[1])); i++) {
        data_of(args[1])[i] = 2 * data_of(args[0])[i];
    }
}

// Nothing, so that what it should write stays as it was.
static void leave(int64_t *args)
{
}

// Its memory is no copy, but can be told.
static void tell(int64_t *args)
{
    if (notify_at(data_of(args[0])) != TERN_OK) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

static const tern_node_function functions[] = {{.name = "add", .kernel = add},
                                               {.name = "twice", .kernel = twice},
                                               {.name = "leave", .kernel = leave},
                                               {.name = "tell", .kernel = tell}};

struct scene {
    tern_node *node;
    tern_domain *domain;
    float model[ELEMENTS];
};

static uint64_t drawn;

static uint32_t below(uint32_t end)
{
    return (uint32_t)random_below(&drawn, end);
}

// A box of the array, and now and then with two dimensions exchanged.
static tern_region draw_part(const tern_region *whole, struct scene *scene, float number)
{
    const uint32_t full[3] = {X, Y, Z};
    uint32_t offset[3], shape[3];
    tern_region view, turned;
    for (int i = 0; i < 3; i++) {
        offset[i] = below(full[i]);
        shape[i] = 1 + below(full[i] - offset[i]);
    }
    for (uint32_t x = offset[0]; x < offset[0] + shape[0]; x++) {
        for (uint32_t y = offset[1]; y < offset[1] + shape[1]; y++) {
            for (uint32_t z = offset[2]; z < offset[2] + shape[2]; z++) {
                scene->model[(x * Y + y) * Z + z] += number;
            }
        }
    }
    if (tern_region_view(whole, shape, offset, &view) != TERN_OK ||
        tern_region_transpose(&view, (int)below(3), (int)below(3), &turned) != TERN_OK) {
        fprintf(stderr, "%s\n", tern_last_error());
    }
    return below(2) == 0 ? view : turned;
}

static int submit_parts(tern_graph *graph, void *arg)
{
    struct scene *scene = arg;
    const int chips = tern_node_chips(scene->node);
    tern_region whole;
    CHECK(fine(tern_region_make(&whole, tern_domain_address(scene->domain, 0),
                                (uint32_t[]){X, Y, Z}, 3, TERN_REGION_F32)));
    for (int i = 0; i < TASKS; i++) {
        tern_region view = draw_part(&whole, scene, (float)(i + 1));
        tern_task_arg args[] = {inout(&view), scalar((uint64_t)i + 1)};
        CHECK(fine(submit_to(graph, (int)below((uint32_t)chips), "add", args, 2)));
    }
    tern_region filled = floats(NULL, ELEMENTS);
    tern_region flat = floats(tern_domain_address(scene->domain, 0), ELEMENTS);
    tern_region result = floats(tern_domain_address(scene->domain, TERN_NODE_HOST), ELEMENTS);
    tern_region word = floats((char *)tern_domain_address(scene->domain, 0) + 4 * ELEMENTS, 1);
    tern_task_arg keep[] = {
        {.access = TERN_OUT, .region = &filled, .filled = true, .fill = 0x40400000}};
    tern_task_arg told[] = {{.access = TERN_NO_DEP, .region = &word}};
    tern_task_arg both[] = {in(&flat), {.access = TERN_OUT_EXISTING, .region = &result}};
    CHECK(fine(submit_to(graph, chips - 1, "leave", keep, 1)));
    CHECK(fine(submit_to(graph, chips - 1, "tell", told, 1)));
    CHECK(fine(submit_to(graph, chips - 1, "twice", both, 2)));
    uint64_t bits;
    CHECK(fine(tern_graph_get_element(graph, &filled, (uint32_t[]){17}, &bits)));
    CHECK(bits == 0x40400000);
    return TERN_OK;
}

static int host_of_parts(tern_node *node, void *arg)
{
    struct scene scene = {.node = node};
    float seen[ELEMENTS + 1];
    uint32_t told;
    CHECK(fine(tern_domain_create(node, (int[]){0}, 1, sizeof seen, &scene.domain)));
    CHECK(fine(tern_node_run(node, submit_parts, &scene)));
    CHECK(fine(tern_domain_read(scene.domain, 0, 0, seen, sizeof seen)));
    memcpy(&told, &seen[ELEMENTS], sizeof told);
    CHECK(told == 1);
    for (int i = 0; i < ELEMENTS; i++) {
        CHECK(seen[i] == scene.model[i]);
    }
    CHECK(fine(tern_domain_read(scene.domain, TERN_NODE_HOST, 0, seen, 4 * ELEMENTS)));
    for (int i = 0; i < ELEMENTS; i++) {
        CHECK(seen[i] == 2 * scene.model[i]);
    }
    return 0;
}

static void parts_of_far_memory_are_copied(void **state)
{
    struct node_test test = {.host = host_of_parts,
                             .functions = functions,
                             .functions_count = sizeof functions / sizeof *functions};
    drawn = random_seed();
    tern__stage_all = true;
    assert_true(ranks_run_counts(2, 5, node_body, &test, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_far_memory_are_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
