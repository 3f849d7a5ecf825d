// SPDX-License-Identifier: Apache-2.0
// For programs that `tern kernel-cc --isa-check` compiles: they run in checking mode unless
// TERN_ISA_CHECK says otherwise.
#ifndef TERN_FACES_PTO_TERN_CHECKED_HPP
#define TERN_FACES_PTO_TERN_CHECKED_HPP

#include <cstdlib>

#include "pto/tern/launch.hpp"

namespace pto::tern_detail
{
// Before anything of tern looks at the environment.
inline const int asks_for_checks = setenv("TERN_ISA_CHECK", "1", 0);
} // namespace pto::tern_detail

#endif
