// SPDX-License-Identifier: Apache-2.0
// The table of the kinds of orchestrations.

#include <dlfcn.h>

#include "base/error.h"
#include "faces/simpler.h"

static const struct simpler_kind *const kinds[] = {
    &tern__simpler_host,       &tern__simpler_chip,        &tern__simpler_tensors,
    &tern__simpler_april_host, &tern__simpler_april_build, &tern__simpler_april_tensors,
    &tern__simpler_august_tensors,
};

const struct simpler_kind *tern__simpler_kind(void *orchestration)
{
    const struct simpler_kind *found = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (dlsym(orchestration, kinds[i]->mark) == NULL) {
            continue;
        }
        if (found != NULL) {
            tern__set_error("the orchestration includes headers of two runtimes, %s and %s",
                            found->name, kinds[i]->name);
            return NULL;
        }
        found = kinds[i];
    }
    if (found == NULL) {
        tern__set_error(
            "the orchestration was not compiled with tern's runtime.h, "
            "orchestration_api.h or pto_orchestration_api.h (tern kernel-cc --runtime)");
    }
    return found;
}
