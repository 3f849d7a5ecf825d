// SPDX-License-Identifier: Apache-2.0
// Counters: how much of something is used, in steps: from a sample to the next one a share stays.

const CHART = 24; // CSS pixels
const CHARTS_OPEN = 16; // with more, they begin folded
const CHARTS_FOLDED = 160; // rows that a folded head shows

class Counter {
  // Times ascend; shares are from 0 to 1.
  constructor(times, shares) {
    this.times = times;
    this.shares = shares;
    this.sums = new Float64Array(times.length); // of share times ns, up to each sample
    for (let i = 1; i < times.length; i++) {
      this.sums[i] = this.sums[i - 1] + shares[i - 1] * (times[i] - times[i - 1]);
    }
  }

  #last(time) {
    return lowerBound(this.times, time + 0.5, 0, this.times.length) - 1; // times are whole
  }

  at(time) {
    const last = this.#last(time);
    return last < 0 ? 0 : this.shares[last];
  }

  sum(time) {
    const last = this.#last(time);
    return last < 0 ? 0 : this.sums[last] + this.shares[last] * Math.max(0, time - this.times[last]);
  }

  mean(from, to) {
    return to > from ? (this.sum(to) - this.sum(from)) / (to - from) : this.at(from);
  }
}

// A row for each counter, behind those of events.
function addCounters(model, data) {
  const { list } = data.counters;
  const samples = list.reduce((sum, [, , length]) => sum + length, 0);
  const times = readColumn(data.counters.time, samples);
  const shares = readColumn(data.counters.share, samples);
  let at = 0;
  for (const [process, name, length] of list) {
    let before = 0;
    for (let i = at; i < at + length; i++) {
      before += unfold(times[i]);
      times[i] = before;
      shares[i] /= 1e5;
    }
    const row = {
      index: model.rows.length, name, process: model.processes[process],
      first: model.count, firstPair: model.count, end: model.count, lanes: [], pairLanes: [],
      counter: new Counter(times.subarray(at, at + length), shares.subarray(at, at + length)),
    };
    at += length;
    model.rows.push(row);
    row.process.rows.push(row);
    row.process.counts = true;
  }
}

// The most used one first.
function sortCounters(model) {
  const mean = (row) => row.counter.mean(model.from, model.to);
  for (const process of model.processes) {
    if (process.counts) process.rows.sort((a, b) => mean(b) - mean(a));
  }
}

// Each pixel shows the mean of its time: as a height or, where the rank is folded, as a strength.
function paintChart(context, chart, view, { y, height, ratio, fill }) {
  const right = Math.round(view.width * ratio);
  const step = view.span / right;
  const { counter } = chart.row;
  let before = counter.sum(view.from);
  let start = 0;
  let run = 0;
  const draw = (end) => {
    if (run <= 0 || end <= start) return;
    context.globalAlpha = chart.mini ? run / 20 : 1;
    const tall = chart.mini ? height : run;
    context.fillRect(start, y + height - tall, end - start, tall);
  };
  context.fillStyle = fill;
  for (let x = 0; x < right; x++) {
    const sum = counter.sum(view.from + (x + 1) * step);
    const share = Math.min(1, (sum - before) / step);
    const level = Math.round(share * (chart.mini ? 20 : height));
    before = sum;
    if (level === run) continue;
    draw(x);
    run = level;
    start = x;
  }
  draw(right);
  context.globalAlpha = 1;
}

function paintCharts(context, app) {
  const { view, theme, layout, scroll, height, ratio } = app;
  for (const chart of layout.charts) {
    if (chart.y + chart.height < scroll || chart.y > scroll + height) continue;
    paintChart(context, chart, view, {
      y: Math.round((chart.y - scroll) * ratio), height: Math.max(1, Math.round(chart.height * ratio)),
      ratio, fill: theme.kinds[KINDS.indexOf("transfer")],
    });
  }
}

// The chart at a height of the rows' canvas; null: none.
function chartAt(app, y) {
  const at = app.scroll + y;
  return app.layout.charts.find((chart) => at >= chart.y && at <= chart.y + chart.height) ?? null;
}

function chartTip({ row }, time) {
  return [element("strong", {}, row.name),
    element("div", {}, element("span.note", {}, "Used"),
      element("span", {}, `${percent(row.counter.at(time), 1)} %`))];
}

// How much of each was used in [from, to]; null where there are no counters.
function countersTable(app, from, to, state) {
  const rows = app.model.rows.filter(({ counter }) => counter).map((row) => (
    { name: row.name, mean: row.counter.mean(from, to) }));
  return rows.length === 0 ? null : sortedTable("How much of links and resources was used", [
    { key: "name", title: "Link or resource", value: ({ name }) => name, cell: ({ name }) => name },
    {
      key: "mean", title: "% used", number: true, value: ({ mean }) => mean,
      hint: "of what it can carry in that time", cell: ({ mean }) => percent(mean, 1),
    },
  ], rows, state);
}
