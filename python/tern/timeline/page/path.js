// SPDX-License-Identifier: Apache-2.0
// The critical path: what the end of the trace waited for, found from its end to its beginning.
//
// At the end of a part of a row (a stretch in which one slice was innermost) the walk asks what that
// part could not do without, and goes to the latest of
//   - an arrow into its event: the arrow leaves a task, a transfer or a notify when that ends, and
//     a wait, a barrier or a call where it is drawn, at its beginning. One that arrives inside the
//     part counts only if it left inside it, too: else the part did not wait for it;
//   - the end of the part before it in its row.
// Where the row did nothing before the part, or the part is a call, and no arrow says why, it goes to
// what ended last in the other rows of the same rank in that time, if anything did: a host that
// waits for its chip records nothing meanwhile. Time between a step and the one before it is a gap:
// "on its way" after an arrow, "nothing recorded" otherwise.

const ROW = "row";
const ARROW = "arrow";
const RANK = "rank"; // what ended last in the rank
const BEGIN = "begin";

class PathFinder {
  constructor(model) {
    this.model = model;
    this.used = new Set(); // arrows, so that two at one moment cannot lead in a circle
  }

  // The part of a row that is running just before a time, else the last one that ended; -1: none.
  partBefore(row, time) {
    const { firstPart, endPart } = this.model.rows[row];
    const part = lowerBound(this.model.parts.start, time, firstPart, endPart) - 1;
    return part >= firstPart ? part : -1;
  }

  leaves(arrow) {
    const { model } = this;
    const { from, fromTime, toTime } = model.arrows;
    const kind = kindOf(model, from[arrow]);
    const done = kind <= KINDS.indexOf("notify") || kind === OTHER;
    return done ? Math.min(model.end[from[arrow]], toTime[arrow]) : fromTime[arrow];
  }

  // The arrow into a part that left last, among those that arrive up to a time and leave after
  // `after`.
  bestArrow(part, time, after) {
    const { model } = this;
    const { arrows, parts } = model;
    let best = null;
    for (const arrow of model.into.get(parts.event[part]) ?? []) {
      const arrives = arrows.toTime[arrow];
      if (arrows.from[arrow] < 0 || this.used.has(arrow)) continue;
      if (arrives < parts.start[part] || arrives > time) continue;
      const left = this.leaves(arrow);
      if (arrives > parts.start[part] && left <= parts.start[part]) continue; // was there already
      if (left > after && left <= time && (best === null || left > best.time)) {
        best = { arrow, time: left, row: model.row[arrows.from[arrow]] };
      }
    }
    return best;
  }

  // What ended last in other rows of the rank in (from, to]; null: nothing.
  lastOfRank(row, from, to) {
    const { parts, rows } = this.model;
    let best = null;
    for (const other of rows[row].process.rows) {
      if (other.index === row) continue;
      const part = lowerBound(parts.end, to + 0.5, other.firstPart, other.endPart) - 1;
      if (part < other.firstPart || parts.end[part] <= from) continue;
      if (best === null || parts.end[part] > best.time) {
        best = { time: parts.end[part], row: other.index };
      }
    }
    return best;
  }

  // The step before (row, part, time), and by what way: { why, row, time, arrow }; null: none.
  before(row, part, time) {
    const { model } = this;
    const { parts } = model;
    const first = model.rows[row].firstPart;
    const ended = part > first ? parts.end[part - 1] : -Infinity;
    const arrow = this.bestArrow(part, time, ended);
    if (arrow !== null) return { why: ARROW, ...arrow };
    if (kindOf(model, parts.event[part]) === CALL) {
      const last = this.lastOfRank(row, parts.start[part], time - 1);
      if (last !== null) return { why: RANK, ...last };
    }
    if (ended < parts.start[part]) {
      const last = this.lastOfRank(row, ended, parts.start[part]);
      if (last !== null) return { why: RANK, ...last };
    }
    return ended > -Infinity ? { why: ROW, row, time: ended } : null;
  }

  lastPart() {
    const { parts, rows } = this.model;
    let best = -1;
    for (const { firstPart, endPart } of rows) {
      if (endPart > firstPart && (best < 0 || parts.end[endPart - 1] > parts.end[best])) {
        best = endPart - 1;
      }
    }
    return best;
  }

  // Where the walk goes on from a moment of a row, at which that row may have done nothing:
  // { row, time, part, idle }; part is -1 where nothing was before.
  settle(row, time) {
    const { parts } = this.model;
    const begin = time;
    let part = this.partBefore(row, time);
    while (part < 0 || parts.end[part] < time) {
      const ended = part < 0 ? -Infinity : parts.end[part];
      const last = this.lastOfRank(row, ended, time);
      if (last === null && part < 0) return { row, time, part, idle: 0 };
      ({ row, time } = last ?? { row, time: ended });
      part = this.partBefore(row, time);
    }
    return { row, time, part, idle: begin - time };
  }

  // Steps from the first to the last: { event, row, from, to, onWay, idle, why, arrow }. `why` and
  // `arrow` say how it is reached from the step before, onWay and idle how long before `from` that
  // one ended.
  find() {
    const { model } = this;
    const { parts } = model;
    const steps = [];
    let part = this.lastPart();
    let row = part < 0 ? 0 : model.row[parts.event[part]];
    let time = part < 0 ? 0 : parts.end[part];
    while (part >= 0) {
      const next = this.before(row, part, time);
      const step = {
        event: parts.event[part], row, to: time, why: next?.why ?? BEGIN, arrow: next?.arrow ?? -1,
        from: Math.max(parts.start[part], next?.time ?? -Infinity), onWay: 0, idle: 0,
      };
      steps.push(step);
      if (next === null) break;
      if (next.why === ARROW) this.used.add(next.arrow);
      step[next.why === ARROW ? "onWay" : "idle"] = step.from - next.time;
      const settled = this.settle(next.row, next.time);
      step.idle += settled.idle;
      ({ row, time, part } = settled);
    }
    return steps.reverse();
  }
}

// Neighbours of one event, one after the other, are one step.
function joinSteps(steps) {
  const joined = [];
  for (const step of steps) {
    const last = joined[joined.length - 1];
    if (last && last.event === step.event && step.why === ROW
      && step.idle === 0) last.to = step.to;
    else joined.push({ ...step });
  }
  return joined;
}

// Sums of the steps: { hops, byKind, byName, onWay, idle }; times in ns.
function sumSteps(model, steps) {
  const sums = {
    hops: 0, byKind: new Array(KINDS.length).fill(0), byName: new Map(), onWay: 0, idle: 0,
  };
  for (const [index, step] of steps.entries()) {
    const what = model.whats[model.what[step.event]];
    const time = step.to - step.from;
    const key = `${what.kind} ${what.group}`;
    if (!sums.byName.has(key)) {
      sums.byName.set(key, { name: what.group, kind: what.kind, count: 0, time: 0 });
    }
    const sum = sums.byName.get(key);
    sum.count++;
    sum.time += time;
    sums.byKind[what.kind] += time;
    sums.onWay += step.onWay;
    sums.idle += step.idle;
    const before = steps[index - 1];
    if (before && model.rows[before.row].process !== model.rows[step.row].process) sums.hops++;
  }
  return sums;
}

// What to draw of the path in each row: `rail`, where it is there at all, and `depths`, the slices
// that were open then, outermost first.
function pathLanes(model, steps) {
  const rows = new Map();
  const extend = (list, event, { from, to }) => {
    const last = list[list.length - 1];
    if (last && last.event === event && last.to === from) last.to = to;
    else list.push({ event, from, to });
  };
  for (const step of steps) {
    if (!rows.has(step.row)) rows.set(step.row, { rail: [], depths: [] });
    const { rail, depths } = rows.get(step.row);
    extend(rail, -1, step);
    const open = [];
    for (let event = step.event; event >= 0; event = model.parent[event]) open.unshift(event);
    for (const [depth, event] of open.entries()) extend(depths[depth] ??= [], event, step);
  }
  const lane = (list) => new Lane(
    Float64Array.from(list, ({ from }) => from), Float64Array.from(list, ({ to }) => to),
    Uint32Array.from(list, ({ event }) => Math.max(0, event)));
  return [...rows].map(([row, { rail, depths }]) => (
    { row: model.rows[row], rail: lane(rail), depths: depths.map(lane) }));
}

// { steps, from, to, lanes, ...the sums }.
function findPath(model) {
  const steps = joinSteps(new PathFinder(model).find());
  const from = steps.length > 0 ? steps[0].from : 0;
  const to = steps.length > 0 ? steps[steps.length - 1].to : 0;
  return { steps, from, to, lanes: pathLanes(model, steps), ...sumSteps(model, steps) };
}
