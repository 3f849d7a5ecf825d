// SPDX-License-Identifier: Apache-2.0
// Times and sizes as people read them, and the ticks of a ruler.

const UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

function unitOf(ns) {
  return UNITS.find(([, size]) => Math.abs(ns) >= size) ?? UNITS[3];
}

// Four digits or more, in the unit that fits: 12.34 µs.
function duration(ns) {
  const [unit, size] = unitOf(ns);
  const value = ns / size;
  const whole = Math.floor(Math.abs(value)).toString().length;
  const digits = size === 1 ? 0 : Math.max(0, 4 - whole);
  return `${value.toFixed(digits)} ${unit}`;
}

// A moment, to the nanosecond: 1.204 315 882 s.
function moment(ns) {
  const [whole, part] = (Math.abs(ns) / 1e9).toFixed(9).split(".");
  return `${ns < 0 ? "−" : ""}${whole}.${part.replace(/(\d{3})(?=\d)/g, "$1 ")} s`;
}

function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  const text = unit === 0 || Number.isInteger(value) ? `${value}` : value.toFixed(value < 10 ? 2 : 1);
  return `${text} ${units[unit]}`;
}

// Groups of three digits, with a narrow space between them.
function count(number) {
  return number.toLocaleString("en").replace(/,/g, "\u202f");
}

function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

function percent(part, whole) {
  if (part <= 0) return "–";
  const value = whole > 0 ? (100 * part) / whole : 0;
  return value < 0.05 ? "<0.1" : value.toFixed(1);
}

// A step of 1, 2 or 5 times a power of ten: the least one that gives ticks `apart` ns apart.
function tickStep(apart) {
  const power = 10 ** Math.floor(Math.log10(Math.max(apart, 1)));
  return power * ([1, 2, 5, 10].find((factor) => power * factor >= apart) ?? 10);
}

// The ticks of [from, to]: { base, ticks: [{ time, text }] }. Where times have many digits, what they
// have in common is the base and the ticks count from there.
function rulerTicks(from, to, apart) {
  const step = tickStep(apart);
  const [unit, size] = unitOf(step * 10);
  const round = size * 1000;
  const base = size >= 1e9 ? 0 : Math.floor(Math.max(from, 0) / round) * round;
  const ticks = [];
  for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
    const value = (time - base) / size;
    const digits = step / size < 1 ? 1 : 0;
    const sign = base > 0 && value >= 0 ? "+" : "";
    ticks.push({ time, text: `${sign}${value.toFixed(digits).replace("-", "−")} ${unit}` });
  }
  return { base, ticks };
}
