// SPDX-License-Identifier: Apache-2.0
// Elements, dealt out in parts that differ by one at most: to ranks, to blocks.
#ifndef PATTERNS_PART_H
#define PATTERNS_PART_H

struct part {
    int first, count;
};

static inline struct part part_of(struct part whole, int parts, int index)
{
    if (parts <= 1) {
        return whole;
    }
    int each = whole.count / parts;
    int more = whole.count % parts;
    struct part part;
    part.first = whole.first + index * each + (index < more ? index : more);
    part.count = each + (index < more ? 1 : 0);
    return part;
}

#endif
