// SPDX-License-Identifier: Apache-2.0
// What a trace of tern run says, worked out from the JSON in another way than the page does it.

const ns = (time) => Math.round(time * 1000);

// Slices and pairs with times in ns, and the names of their places.
export function eventsOf(trace) {
  const names = new Map();
  const begun = new Map();
  const events = [];
  for (const e of trace.traceEvents) {
    const place = `${e.pid} ${e.tid}`;
    const at = { name: e.name, cat: e.cat, place, rank: e.pid - 1, start: ns(e.ts) };
    if (e.ph === "M" && e.name === "thread_name") names.set(place, e.args.name);
    else if (e.ph === "X") events.push({ ...at, end: at.start + ns(e.dur), pair: false });
    else if (e.ph === "b") begun.set(e.id, { ...at, pair: true });
    else if (e.ph === "e") events.push({ ...begun.get(e.id), end: ns(e.ts) });
  }
  return { names, events };
}

// Per place the share of each kind: between any two neighbouring times of begins and ends, the slice
// that began last decides, else a wait that is open.
export function sharesOf({ names, events }) {
  const first = Math.min(...events.map((e) => e.start));
  const last = Math.max(...events.map((e) => e.end));
  const shares = new Map();
  for (const [place, row] of names) {
    const own = events.filter((e) => e.place === place);
    const moments = own.flatMap((e) => [[e.start, e], [e.end, e]]).sort((a, b) => a[0] - b[0]);
    const open = new Set();
    const kinds = {};
    let before = first;
    let at = 0;
    while (at < moments.length) {
      const [time] = moments[at];
      let now = null;
      for (const e of open) {
        const later = now !== null && (e.start > now.start || (e.start === now.start && e.end < now.end));
        if (!e.pair && (now === null || later)) now = e;
      }
      const waits = [...open].some((e) => e.pair && e.cat === "wait");
      const kind = now !== null ? now.cat : waits ? "wait" : null;
      if (kind !== null) kinds[kind] = (kinds[kind] ?? 0) + time - before;
      before = time;
      for (; at < moments.length && moments[at][0] === time; at++) {
        if (open.has(moments[at][1])) open.delete(moments[at][1]);
        else open.add(moments[at][1]);
      }
    }
    const idle = last - first - Object.values(kinds).reduce((sum, time) => sum + time, 0);
    shares.set(`rank ${Number(place.split(" ")[0]) - 1} ${row}`, { kinds, idle, whole: last - first });
  }
  return shares;
}

export function namesOf({ events }) {
  const names = new Map();
  for (const { name, cat, start, end } of events) {
    const key = `${name.replace(/ #\d+$/, "")} ${cat}`;
    names.set(key, [...(names.get(key) ?? []), end - start]);
  }
  return names;
}
