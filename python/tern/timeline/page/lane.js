// SPDX-License-Identifier: Apache-2.0
// A lane: spans of time that do not overlap, in their order, and above them a tree whose nodes say
// how much of their time is covered and which of their spans is longest. What is smaller than a
// pixel is drawn from a node, so that a picture costs as much as it has pixels.

const FAN = 8; // children of a node

class Lane {
  // Arrays of one length: starts and ends ascend; ids say what the spans stand for.
  constructor(starts, ends, ids) {
    this.starts = starts;
    this.ends = ends;
    this.ids = ids;
    this.length = starts.length;
    this.levels = [];
    let below = { starts, ends, busy: null, top: null };
    while (below.starts.length > FAN) {
      below = this.#above(below);
      this.levels.push(below);
    }
  }

  #above(below) {
    const count = Math.ceil(below.starts.length / FAN);
    const level = {
      starts: new Float64Array(count), ends: new Float64Array(count),
      busy: new Float64Array(count), top: new Uint32Array(count),
    };
    for (let i = 0; i < count; i++) {
      const from = i * FAN;
      const last = Math.min(from + FAN, below.starts.length);
      let busy = 0;
      let top = 0;
      let longest = -1;
      for (let j = from; j < last; j++) {
        const mine = below.top ? below.top[j] : j;
        const length = this.ends[mine] - this.starts[mine];
        busy += below.busy ? below.busy[j] : length;
        if (length > longest) {
          longest = length;
          top = mine;
        }
      }
      level.starts[i] = below.starts[from];
      level.ends[i] = below.ends[last - 1];
      level.busy[i] = busy;
      level.top[i] = top;
    }
    return level;
  }

  // Calls each(start, end, busy, index, merged) for what [from, to] has, in its order: spans, and
  // for those that together are shorter than `least` their sum, with the longest of them.
  visit(from, to, least, each) {
    const level = this.levels.length;
    const count = level ? this.levels[level - 1].starts.length : this.length;
    this.#visit(level, 0, count, from, to, least, each);
  }

  #visit(level, first, last, from, to, least, each) {
    const { starts, ends, busy, top } = level ? this.levels[level - 1] : this;
    for (let i = first; i < last; i++) {
      if (ends[i] < from) continue;
      if (starts[i] > to) return;
      if (level === 0) {
        each(starts[i], ends[i], ends[i] - starts[i], i, false);
      } else if (ends[i] - starts[i] < least) {
        each(starts[i], ends[i], busy[i], top[i], true);
      } else {
        const below = level > 1 ? this.levels[level - 2].starts.length : this.length;
        const begin = i * FAN;
        this.#visit(level - 1, begin, Math.min(begin + FAN, below), from, to, least, each);
      }
    }
  }

  has(start, id) {
    let at = lowerBound(this.starts, start, 0, this.length);
    while (at < this.length && this.starts[at] === start && this.ids[at] !== id) at++;
    return at < this.length && this.starts[at] === start;
  }

  // The index of the span at a time, or of the nearest one within `reach`; -1: none.
  at(time, reach) {
    const next = lowerBound(this.ends, time, 0, this.length);
    let best = -1;
    let distance = reach;
    for (let i = Math.max(0, next - 1); i < Math.min(this.length, next + 2); i++) {
      const away = Math.max(this.starts[i] - time, time - this.ends[i], 0);
      if (away <= distance && (best < 0 || away < distance)) {
        distance = away;
        best = i;
      }
    }
    return best;
  }
}

// The first index in [low, high) whose value is not below `value`, in an ascending array.
function lowerBound(array, value, low, high) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (array[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function laneOf(ids, model) {
  const starts = new Float64Array(ids.length);
  const ends = new Float64Array(ids.length);
  for (let i = 0; i < ids.length; i++) {
    starts[i] = model.start[ids[i]];
    ends[i] = model.end[ids[i]];
  }
  return new Lane(starts, ends, Uint32Array.from(ids));
}
