// SPDX-License-Identifier: Apache-2.0
// Times of the simulator, in us.
#ifndef TERN_PLAN_SIM_TIME_H
#define TERN_PLAN_SIM_TIME_H

// Rounds a time to the next multiple of 2^-30 us, a femtosecond, so that what happens at the same
// time is not torn apart by the rounding of sums. Beyond 2^21 us steps are those of a double.
static inline double tern__sim_time(double us)
{
    double shifted = us + 0x1.8p22;
    return us < 0x1p21 ? shifted - 0x1.8p22 : us;
}

#endif
