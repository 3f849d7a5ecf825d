// SPDX-License-Identifier: Apache-2.0
// Colours, from the style sheet, so that light and dark are written there. Kinds have a hue; tasks
// vary theirs by name, names that differ only in a number have one.

const TASK_HUES = [212, 236, 200, 254, 224, 245, 206, 264];

function readTheme(model) {
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(`--${name}`).trim();
  const theme = {
    font: value("font") || "sans-serif",
    ink: value("ink"), ink2: value("ink-2"), ink3: value("ink-3"), paper: value("paper"),
    line: value("line"), lineStrong: value("line-strong"), panel: value("panel"),
    accent: value("accent"), path: value("path"), mark: value("mark"),
    kinds: KINDS.map((kind) => value(`kind-${kind}`)),
    slice: value("slice-ink"),
  };
  const bases = new Map();
  theme.fill = model.whats.map(({ kind, base }) => {
    if (kind !== TASK) return theme.kinds[kind];
    if (!bases.has(base)) bases.set(base, bases.size);
    const nth = bases.get(base);
    const lift = (Math.floor(nth / TASK_HUES.length) % 3) * 5;
    const lightness = Number(value("task-lightness")) + lift;
    return `hsl(${TASK_HUES[nth % TASK_HUES.length]} ${value("task-saturation")} ${lightness}%)`;
  });
  return theme;
}
