// SPDX-License-Identifier: Apache-2.0
// Tables of the page, sorted by the head that is pressed.

const ROWS_MOST = 400; // of a table, shown

// element("p.note", { title: "..." }, child, "text", ...)
function element(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const made = document.createElement(name);
  if (classes.length > 0) made.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function swatch(kind) {
  return element(`span.swatch.kind-${KINDS[kind]}`, { "aria-hidden": "true" });
}

// columns: { key, title, number, value(row), cell(row), hint }. `state` keeps { key, down } between
// two makings of one table; without a key the rows keep their order.
function sortedTable(caption, columns, rows, state) {
  const table = element("table", {}, element("caption.unseen", {}, caption));
  const body = element("tbody");
  const heads = new Map();
  const fill = () => {
    const column = columns.find(({ key }) => key === state.key);
    const list = [...rows];
    if (column) {
      const sign = state.down ? -1 : 1;
      list.sort((a, b) => {
        const [x, y] = [column.value(a), column.value(b)];
        return sign * (typeof x === "number" ? x - y : x.localeCompare(y, "en", { numeric: true }));
      });
    }
    body.replaceChildren(...list.slice(0, ROWS_MOST).map((row) => element("tr", {}, ...columns.map(
      (each) => element(each.number ? "td.number" : "td", {}, each.cell(row))))));
    if (list.length > ROWS_MOST) {
      body.append(element("tr", {}, element("td.note", { colspan: columns.length },
        `and ${count(list.length - ROWS_MOST)} more`)));
    }
    for (const [key, head] of heads) {
      const order = key === state.key ? (state.down ? "descending" : "ascending") : "none";
      head.setAttribute("aria-sort", order);
    }
  };
  const press = (column) => {
    const same = state.key === column.key;
    if (same && state.down !== Boolean(column.number)) state.key = null; // the third press: as it was
    else {
      state.down = same ? !state.down : Boolean(column.number);
      state.key = column.key;
    }
    fill();
  };
  const line = element("tr", {}, ...columns.map((column) => {
    const head = element(column.number ? "th.number" : "th", { scope: "col", title: column.hint ?? null },
      column.value ? element("button", { type: "button", onclick: () => press(column) }, column.title)
        : column.title);
    if (column.value) heads.set(column.key, head);
    return head;
  }));
  table.append(element("thead", {}, line), body);
  fill();
  return table;
}

// A bar of what a row did.
function shareBar({ kinds, whole }) {
  const bar = element("div.bar", { "aria-hidden": "true" });
  for (const kind of STACK) {
    if (kinds[kind] <= 0) continue;
    bar.append(element(`span.kind-${KINDS[kind]}`, {
      style: `width:${(100 * kinds[kind]) / whole}%`, title: KINDS[kind],
    }));
  }
  return bar;
}

function rowsTable(app, from, to, state) {
  const times = timeOfRows(app.model, from, to);
  const kinds = KINDS.map((_, kind) => kind).filter((kind) => times.some((time) => time.kinds[kind] > 0));
  const columns = [
    {
      key: "rank", title: "Rank", value: ({ row }) => row.process.name,
      cell: ({ row }) => row.process.name,
    },
    { key: "row", title: "Row", value: ({ row }) => row.name, cell: ({ row }) => row.name },
    { key: "bar", title: "Share of the time", cell: shareBar },
    ...kinds.map((kind) => ({
      key: KINDS[kind], title: KINDS[kind], number: true, value: (time) => time.kinds[kind],
      hint: `% of the time in ${KINDS[kind]}; what lies inside another counts once, as the inner one`,
      cell: (time) => percent(time.kinds[kind], time.whole),
    })),
    {
      key: "idle", title: "idle", number: true, value: (time) => time.idle,
      hint: "% of the time in which nothing is recorded", cell: (time) => percent(time.idle, time.whole),
    },
  ];
  return sortedTable("Where the time of each row went, in percent", columns, times, state);
}

function namesTable(app, from, to, state) {
  const names = timeOfNames(app.model, from, to);
  const time = (key, title, hint) => ({
    key, title, hint, number: true, value: (entry) => entry[key],
    cell: (entry) => duration(entry[key]),
  });
  const columns = [
    {
      key: "name", title: "Name", value: ({ name }) => name,
      cell: ({ name, kind }) => element("button.link", {
        type: "button", title: "search for it", onclick: () => app.search(name),
      }, swatch(kind), name),
    },
    { key: "kind", title: "Kind", value: ({ kind }) => KINDS[kind], cell: ({ kind }) => KINDS[kind] },
    {
      key: "count", title: "Count", number: true, value: (entry) => entry.count,
      cell: (entry) => count(entry.count),
    },
    time("total", "Total", "of all rows, with what lies inside"), time("median", "Median"),
    {
      key: "most", title: "Longest", number: true, value: (entry) => entry.most,
      cell: ({ most, longest }) => element("button.link", {
        type: "button", title: "go there", onclick: () => app.visit(longest),
      }, duration(most)),
    },
  ];
  return sortedTable("Events by name", columns, names, state);
}
