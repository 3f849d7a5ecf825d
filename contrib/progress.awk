# SPDX-License-Identifier: Apache-2.0
#
# Reads what ninja prints and lets through a line for every tenth of the work, and everything that is
# not a line of progress: warnings, errors. Short builds are silent.
/^\[[0-9]+\/[0-9]+\] / {
    split(substr($1, 2), part, /[\/\]]/)
    tenth = int(10 * part[1] / part[2])
    if (part[2] >= 50 && tenth > shown) {
        shown = tenth
        printf "building: %d of %d steps\n", part[1], part[2]
        fflush()
    }
    next
}
/^ninja: no work to do/ { next }
{ print; fflush() }
