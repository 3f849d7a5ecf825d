// SPDX-License-Identifier: Apache-2.0
// Puts the page together.

const byId = (id) => document.getElementById(id);

function describe(model) {
  const events = plural(model.count, "event");
  const ranks = model.processes.filter(({ counts }) => !counts);
  const rows = model.rows.filter(({ counter }) => !counter);
  const arrows = model.arrows.count > 0 ? ` · ${plural(model.arrows.count, "arrow")}` : "";
  return `${plural(ranks.length, "rank")} · ${plural(rows.length, "row")} · `
    + `${events}${arrows}${model.empty ? "" : ` · ${duration(model.to - model.from)}`}`;
}

function fillHead(app) {
  const { model } = app;
  byId("meta").textContent = describe(model);
  const present = new Set(model.whats.map(({ kind }) => kind));
  for (const [kind, name] of KINDS.entries()) {
    if (!present.has(kind)) continue;
    const button = element("button.chip", {
      type: "button", "aria-pressed": "true", title: `show or hide: ${name}`,
      onclick: () => {
        const shown = button.getAttribute("aria-pressed") === "true";
        button.setAttribute("aria-pressed", String(!shown));
        app.hide(kind, shown);
      },
    }, swatch(kind), name);
    byId("legend").append(button);
  }
  if (model.notes.length > 0) {
    byId("notes").hidden = false;
    byId("notes").append(...model.notes.map((note) => element("li", {}, note)));
  }
}

function fillLabels(app) {
  const { layout } = app;
  const make = () => {
    const labels = byId("labels");
    labels.style.height = `${layout.height}px`;
    const list = [];
    for (const { process, y, height, folded } of layout.heads) {
      list.push(element("li", { style: `top:${y}px;height:${height}px` }, element("button.rank", {
        type: "button", "aria-expanded": String(!folded),
        onclick: () => {
          app.fold(process, !folded);
          labels.querySelectorAll(".rank")[process.index].focus();
        },
      }, element("span.turn", { "aria-hidden": "true" }), process.name,
      process.label ? element("em", { title: process.label }, process.label) : "")));
    }
    for (const { row, y, height } of layout.bands) {
      const { counter } = row;
      const mean = counter ? `${percent(counter.mean(app.model.from, app.model.to), 1)} %` : null;
      list.push(element("li.row", { style: `top:${y}px;height:${height}px` }, row.name,
        mean && element("span.note", { title: "of the time of the trace" }, ` ${mean}`)));
    }
    labels.replaceChildren(...list);
    const none = layout.folded.size === 0;
    byId("fold").textContent = none ? "fold all" : "unfold all";
    byId("fold").hidden = app.model.processes.length < 2;
  };
  app.on("layout", make);
  byId("fold").addEventListener("click", () => {
    const fold = layout.folded.size === 0;
    for (const process of app.model.processes) layout.fold(process, fold);
    app.tell("layout");
  });
  make();
}

function fillSearch(app) {
  const field = byId("search");
  const say = () => {
    const { matches } = app;
    const at = matches !== null && matches.at >= 0 ? `${count(matches.at + 1)} of ` : "";
    byId("found").textContent = matches === null ? ""
      : matches.ids.length === 0 ? "no match" : `${at}${count(matches.ids.length)}`;
    for (const id of ["next", "previous"]) byId(id).disabled = matches === null || !matches.ids.length;
  };
  field.addEventListener("input", () => app.search(field.value));
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") app.nextMatch(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") {
      if (field.value !== "") app.search("");
      app.canvas.focus();
    } else return;
    event.preventDefault();
  });
  byId("next").addEventListener("click", () => app.nextMatch(1));
  byId("previous").addEventListener("click", () => app.nextMatch(-1));
  app.focusSearch = () => {
    field.focus();
    field.select();
  };
  app.on("search", (text) => {
    if (text !== null && field.value !== text) field.value = text;
    say();
  });
  say();
}

function scopeOf(app) {
  const { model, view, measured } = app;
  const scope = byId("scope").value;
  if (scope === "view") {
    return [Math.max(model.from, view.from), Math.min(model.to, view.to)];
  }
  if (scope === "measured" && measured !== null) {
    return [Math.min(measured.from, measured.to), Math.max(measured.from, measured.to)];
  }
  return [model.from, model.to];
}

const PANES = {
  selection: (app) => selectionPane(app),
  rows: (app) => element("div", {}, rowsTable(app, ...scopeOf(app), app.sorting.rows),
    countersTable(app, ...scopeOf(app), app.sorting.counters)),
  names: (app) => namesTable(app, ...scopeOf(app), app.sorting.names),
  path: (app) => pathPane(app),
};

function fillPanel(app) {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  let shown = "selection";
  const fill = () => {
    byId("panel-body").replaceChildren(app.model.empty
      ? element("p.hint", {}, "There is nothing to tell of an empty trace.") : PANES[shown](app));
    const scoped = shown === "rows" || shown === "names";
    byId("scope-field").hidden = !scoped;
    byId("scope").querySelector("[value=measured]").disabled = app.measured === null;
  };
  const show = (name) => {
    shown = name;
    for (const tab of tabs) {
      const own = tab.dataset.pane === name;
      tab.setAttribute("aria-selected", String(own));
      tab.tabIndex = own ? 0 : -1;
      if (own) byId("panel-body").setAttribute("aria-labelledby", tab.id);
    }
    fill();
  };
  app.showPane = show;
  for (const [nth, tab] of tabs.entries()) {
    tab.addEventListener("click", () => show(tab.dataset.pane));
    tab.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (by === undefined) return;
      event.stopPropagation();
      const next = tabs[(nth + by + tabs.length) % tabs.length];
      show(next.dataset.pane);
      next.focus();
    });
  }
  byId("scope").addEventListener("change", fill);
  app.on("select", (event) => {
    if (event >= 0) show("selection");
    else if (shown === "selection") fill();
    byId("live").textContent = event < 0 ? "" : `${nameOf(app.model, event)}, `
      + `${placeOf(app.model, event)}, ${duration(app.model.end[event] - app.model.start[event])}`;
  });
  app.on("measure", () => {
    if (app.measured === null && byId("scope").value === "measured") byId("scope").value = "trace";
    refill();
  });
  app.on("toggle", (what) => {
    if (what === "path" && app.showPath) show("path");
  });
  let later = 0;
  let key = "";
  const refill = () => {
    clearTimeout(later);
    if (shown === "rows" || shown === "names") later = setTimeout(fill, 150);
  };
  app.on("view", () => {
    const now = `${app.view.from} ${app.view.to}`;
    if (byId("scope").value === "view" && now !== key) refill();
    key = now;
  });
  show("rows");
}

function fillHints(app) {
  const { view, model } = app;
  byId("empty").hidden = !model.empty;
  byId("trace-span").textContent = model.empty ? "" : duration(model.to - model.from);
  app.on("view", () => {
    byId("view-span").textContent = model.empty ? "" : `${duration(Math.min(view.to, model.to)
      - Math.max(view.from, model.from))} in view`;
    byId("base").textContent = app.ticks.base > 0 ? `${moment(app.ticks.base).replace(/( 000)+ s$/, " s")} +` : "";
    byId("hint").textContent = app.arrowsHidden > 0
      ? `${count(app.arrowsHidden)} arrows here; zoom in to see them` : "";
  });
  const tooltip = byId("tooltip");
  let told = -1;
  app.hover = (event, x, y, chart) => {
    tooltip.hidden = event < 0 && chart === null;
    if (tooltip.hidden) return;
    if (event < 0) tooltip.replaceChildren(...chartTip(chart, app.pointerTime));
    else if (event !== told) tooltip.replaceChildren(...tooltipOf(app, event));
    told = event;
    const box = app.canvas.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = tooltip;
    const right = box.left + x + 16 + width > innerWidth - 8;
    const left = right ? box.left + x - 12 - width : box.left + x + 16;
    tooltip.style.left = `${Math.max(8, left)}px`;
    tooltip.style.top = `${Math.max(8, Math.min(innerHeight - height - 8, box.top + y + 18))}px`;
  };
}

function fillTools(app) {
  const dialog = byId("keys");
  for (const what of ["arrows", "path"]) {
    byId(what).addEventListener("click", () => app.toggle(what));
  }
  app.on("toggle", () => {
    byId("arrows").setAttribute("aria-pressed", String(app.showArrows));
    byId("path").setAttribute("aria-pressed", String(app.showPath));
  });
  app.help = () => dialog.showModal();
  byId("help").addEventListener("click", app.help);
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  listenToKeys(app, dialog);
}

function follow(app) {
  const field = byId("field");
  const fit = () => {
    const bar = app.scroller.offsetWidth - app.scroller.clientWidth;
    field.parentElement.style.setProperty("--bar", `${bar}px`);
    app.resize(app.canvas.clientWidth, app.canvas.clientHeight, devicePixelRatio || 1);
  };
  new ResizeObserver(fit).observe(field);
  app.on("layout", fit);
  app.scroller.addEventListener("scroll", () => {
    app.scroll = app.scroller.scrollTop;
    app.draw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => app.recolour());
  listenToSplitter(byId("splitter"), (by) => {
    const panel = byId("panel");
    const most = innerHeight - 260;
    panel.style.height = `${Math.max(44, Math.min(most, panel.offsetHeight + by))}px`;
  });
}

function start() {
  const model = buildModel(JSON.parse(byId("data").textContent));
  const app = new App(model, {
    canvas: byId("rows"), ruler: byId("ruler"), scroller: byId("scroller"),
    overview: new Overview(byId("overview")),
  });
  fillHead(app);
  fillLabels(app);
  fillHints(app);
  fillSearch(app);
  fillPanel(app);
  fillTools(app);
  listenToWheel(app, app.canvas, app.scroller);
  listenToRows(app, app.canvas, app.scroller);
  listenToOverview(app, app.overview.canvas);
  follow(app);
  window.timeline = app; // for the console of the browser
}

start();
