// SPDX-License-Identifier: Apache-2.0
// The keys, and the list of them that "?" shows.

const CLOSER = 0.6; // of what is in view stays, a press
const ASIDE = 0.25;
const DOWN = 60; // CSS pixels

// [keys, what they do, function]; keys that are shown in the help are in `keys`.
function keyTable(app) {
  const { view } = app;
  const scroll = (by) => app.scrollBy(by);
  return [
    { keys: ["w", "+"], also: ["="], text: "closer", act: () => view.zoom(CLOSER, app.keyX(), true) },
    { keys: ["s", "-"], also: ["_"], text: "farther", act: () => view.zoom(1 / CLOSER, app.keyX(), true) },
    { keys: ["a", "ArrowLeft"], text: "earlier", act: () => view.pan(-ASIDE, true) },
    { keys: ["d", "ArrowRight"], text: "later", act: () => view.pan(ASIDE, true) },
    { keys: ["ArrowUp"], text: "up", act: () => scroll(-DOWN) },
    { keys: ["ArrowDown"], text: "down", act: () => scroll(DOWN) },
    { keys: ["0"], text: "the whole trace", act: () => view.all() },
    { keys: ["f"], text: "fit what is selected or measured", act: () => app.fit() },
    { keys: [",", "."], text: "the event before, after in its lane", act: (key) => app.step(key === "," ? -1 : 1) },
    { keys: ["/"], text: "search", act: () => app.focusSearch() },
    { keys: ["n", "N"], text: "next, previous match", act: (key) => app.nextMatch(key === "n" ? 1 : -1) },
    { keys: ["x"], text: "arrows on, off", act: () => app.toggle("arrows") },
    { keys: ["c"], text: "critical path on, off", act: () => app.toggle("path") },
    { keys: ["?"], text: "this list", act: () => app.help() },
    { keys: ["Escape"], text: "undo: measured, selected, searched, path", act: () => app.escape() },
  ];
}

const MOUSE_HELP = [
  ["wheel", "closer, farther"], ["drag", "move"], ["shift and wheel", "up, down"],
  ["click", "select"], ["double click", "fit the event; beside events: all"],
  ["shift and drag", "measure"],
];

const KEY_NAMES = {
  ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc",
};

function listenToKeys(app, dialog) {
  const table = keyTable(app);
  const acts = new Map();
  for (const { keys, also = [], act } of table) {
    for (const key of [...keys, ...also]) acts.set(key, act);
  }
  document.addEventListener("keydown", (event) => {
    const { target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    if (target.closest("input, select, textarea")) return;
    if (target.closest("#panel-body") && event.key.startsWith("Arrow")) return; // it scrolls
    const act = acts.get(event.key);
    if (act === undefined) return;
    event.preventDefault();
    act(event.key);
  });
  const list = (entries) => element("dl", {}, ...entries.flatMap(([keys, text]) => [
    element("dt", {}, ...keys.map((key) => element("kbd", {}, KEY_NAMES[key] ?? key))),
    element("dd", {}, text),
  ]));
  dialog.querySelector(".lists").append(
    list(table.map(({ keys, text }) => [keys, text])),
    list(MOUSE_HELP.map(([what, text]) => [[what], text])));
}
