// SPDX-License-Identifier: Apache-2.0
// The panel under the rows: what is selected, the tables, the critical path; and the tooltip.

const LINKS_MOST = 60; // arrows listed of one event

// [name, text] of all that is known of an event.
function factsOf(model, event) {
  const args = argsOf(model, event);
  const length = model.end[event] - model.start[event];
  const facts = [
    ["Kind", model.whats[model.what[event]].cat],
    ["Where", placeOf(model, event)],
    ["Begins", moment(model.start[event] - model.from)],
    ["Takes", duration(length)],
  ];
  for (const [key, value] of Object.entries(args)) {
    if (key === "bytes") {
      facts.push(["Bytes", value >= 1024 ? `${count(value)} (${bytesText(value)})` : `${value}`]);
      if (value > 0 && length > 0) facts.push(["Rate", `${(value / length).toPrecision(3)} GB/s`]);
    } else {
      const title = key.charAt(0).toUpperCase() + key.slice(1);
      const text = typeof value === "object" ? JSON.stringify(value) : `${value}`;
      facts.push([title, key === "peer" ? `rank ${text}` : text]);
    }
  }
  return facts;
}

function eventLink(app, event, note) {
  const { model } = app;
  return element("li", {}, element("button.link", { type: "button", onclick: () => app.visit(event) },
    swatch(kindOf(model, event)), nameOf(model, event)), element("span.note", {}, note));
}

function linkList(app, title, links, none) {
  const list = element("ul.links", {}, ...links.slice(0, LINKS_MOST));
  if (links.length > LINKS_MOST) {
    list.append(element("li.note", {}, `and ${count(links.length - LINKS_MOST)} more`));
  }
  return element("div", {}, element("h3", {}, title),
    links.length > 0 ? list : element("p.note", {}, none));
}

function selectionPane(app) {
  const { model, selected: event } = app;
  if (event < 0) {
    return element("p.hint", {}, "Nothing is selected. Click an event, or search for one with ",
      element("kbd", {}, "/"), "; ", element("kbd", {}, "?"), " lists the keys.");
  }
  const facts = element("dl");
  for (const [name, text] of factsOf(model, event)) {
    facts.append(element("dt", {}, name), element("dd", {}, text));
  }
  const { arrows } = model;
  const link = (arrow, other) => (other < 0 ? null : eventLink(app, other,
    `${placeOf(model, other)}, ${model.arrowNames[arrows.name[arrow]]}, `
    + `${duration(arrows.toTime[arrow] - arrows.fromTime[arrow])}`));
  const into = (model.into.get(event) ?? []).map((arrow) => link(arrow, arrows.from[arrow]));
  const outOf = (model.outOf.get(event) ?? []).map((arrow) => link(arrow, arrows.to[arrow]));
  const around = [];
  if (model.parent[event] >= 0) around.push(eventLink(app, model.parent[event], "around it"));
  for (const [step, note] of [[-1, "before it"], [1, "after it"]]) {
    const next = neighbour(model, event, step);
    if (next >= 0) around.push(eventLink(app, next, note));
  }
  return element("div.columns", {},
    element("div", {}, element("h2", {}, swatch(kindOf(model, event)), nameOf(model, event)), facts),
    linkList(app, "Waited for", into.filter(Boolean), "No arrow ends here."),
    linkList(app, "Led to", outOf.filter(Boolean), "No arrow begins here."),
    linkList(app, "In its row", around, "It is alone in its row."));
}

// The event before or after one in its lane; -1: none.
function neighbour(model, event, step) {
  const row = model.rows[model.row[event]];
  const lane = [...row.lanes, ...row.pairLanes].find((each) => each.has(model.start[event], event));
  const at = lane.ids.indexOf(event) + step;
  return at >= 0 && at < lane.length ? lane.ids[at] : -1;
}

function pathSentence(path) {
  const whole = path.to - path.from;
  const parts = path.byKind.map((time, kind) => [time, KINDS[kind]])
    .concat([[path.onWay, "on its way from one row to another"], [path.idle, "nothing recorded"]])
    .filter(([time]) => time > 0).sort((a, b) => b[0] - a[0])
    .map(([time, text]) => `${percent(time, whole)} % ${text}`);
  return `${duration(whole)} in ${plural(path.steps.length, "step")}, `
    + `${plural(path.hops, "time")} from rank to rank: ${parts.join(", ")}.`;
}

function pathPane(app) {
  const { model, path } = app;
  if (path.steps.length === 0) return element("p.hint", {}, "The trace has no slices.");
  const whole = path.to - path.from;
  const share = { title: "% of the path", number: true };
  const made = sortedTable("What the critical path is made of", [
    {
      key: "name", title: "Made of", value: ({ name }) => name,
      cell: ({ name, kind }) => element("span", {}, swatch(kind), name),
    },
    { key: "count", title: "Steps", number: true, value: (sum) => sum.count, cell: (sum) => count(sum.count) },
    { key: "time", title: "Time", number: true, value: (sum) => sum.time, cell: (sum) => duration(sum.time) },
    { ...share, key: "share", value: (sum) => sum.time, cell: (sum) => percent(sum.time, whole) },
  ], [...path.byName.values()], app.sorting.path);
  const long = [...path.steps].sort((a, b) => (b.to - b.from) - (a.to - a.from)).slice(0, 100);
  const steps = sortedTable("The longest steps of the critical path", [
    {
      key: "name", title: "Longest steps", value: (step) => nameOf(model, step.event),
      cell: (step) => element("button.link", { type: "button", onclick: () => app.visit(step.event) },
        swatch(kindOf(model, step.event)), nameOf(model, step.event)),
    },
    {
      key: "where", title: "Where", value: (step) => placeOf(model, step.event),
      cell: (step) => placeOf(model, step.event),
    },
    { key: "from", title: "Begins", number: true, value: (step) => step.from, cell: (step) => moment(step.from - model.from) },
    { key: "time", title: "Time", number: true, value: (step) => step.to - step.from, cell: (step) => duration(step.to - step.from) },
  ], long, app.sorting.steps);
  return element("div", {}, element("p.sentence", {}, pathSentence(path)),
    element("div.columns.wide", {}, made, steps));
}

function tooltipOf(app, event) {
  const { model } = app;
  const facts = factsOf(model, event).slice(1)
    .map(([name, text]) => element("div", {}, element("span.note", {}, name), element("span", {}, text)));
  const arrows = (model.into.get(event) ?? []).length + (model.outOf.get(event) ?? []).length;
  return [element("strong", {}, swatch(kindOf(model, event)), nameOf(model, event)), ...facts,
    arrows > 0 ? element("div.note", {}, plural(arrows, "arrow")) : ""];
}
