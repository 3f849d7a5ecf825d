// SPDX-License-Identifier: Apache-2.0
// Search: events whose name has the text, in the order of time.

// { text, ids, rows, at }: rows has a lane for each row with matches; `at` is where the user is, -1:
// nowhere. Null when there is no text.
function findMatches(model, text) {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return null;
  const hits = model.whats.map((what) => what.name.toLowerCase().includes(wanted));
  const ids = [];
  for (let i = 0; i < model.count; i++) {
    if (hits[model.what[i]]) ids.push(i);
  }
  ids.sort((a, b) => model.start[a] - model.start[b] || a - b);
  return { text: wanted, ids, hits, at: -1 };
}

// The match after (or before) the one where the user is or, at first, the first in view.
function stepMatch(matches, direction, model, from) {
  const { ids, at } = matches;
  if (ids.length === 0) return -1;
  if (at < 0) {
    const next = ids.findIndex((id) => model.start[id] >= from);
    matches.at = next < 0 ? 0 : next;
  } else {
    matches.at = (at + direction + ids.length) % ids.length;
  }
  return ids[matches.at];
}
