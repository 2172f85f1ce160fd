// SPDX-License-Identifier: MIT
// page.js - draws the page of `clam report` from the JSON in it. Text of a results file reaches the
// page as text alone (textContent), never as HTML.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const boards = data.boards;
const rows = boards.flatMap((board, index) => board.rows.map((row) => ({...row, board: index})));
const several = boards.length > 1;
const has = (value) => value !== undefined && value !== null;

// ---- small helpers

/// An element with attributes and children; a child that is no element is text.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter(has));
  return element;
}

/// As clam-bench prints it: three to five digits.
function figure(value) {
  if (!has(value)) return "";
  const size = Math.abs(value);
  return value.toFixed(size < 10 ? 3 : size < 1000 ? 1 : 0);
}

const percent = (value) => has(value) ? (100 * value).toFixed(value < 0.1 ? 1 : 0) + " %" : "";
const interval = (low, high) => has(low) && has(high) ? figure(low) + " to " + figure(high) : "";
const count = (number, word) => number + " " + word + (number === 1 ? "" : "s");
const label = (row) => row.name + (several ? " on " + boards[row.board].label : "");
const unique = (values) => [...new Set(values)];
const byId = (id) => document.getElementById(id);

// ---- head

function showHead() {
  byId("counts").textContent = data.counts + "; measured " +
      unique(boards.map((board) => board.date)).join(", ") + ".";
  byId("made-by").textContent = "Made by clam " + data.version + " from " +
      boards.map((board) => board.path).join(", ") + ".";
  const invalid = rows.filter((row) => row.status === "INVALID");
  if (invalid.length === 0) return;
  const most = 8;
  byId("invalid").hidden = false;
  byId("invalid-title").textContent = count(invalid.length, "row") + " INVALID";
  const list = byId("invalid").querySelector("ul");
  for (const row of invalid.slice(0, most)) {
    list.append(make("li", {}, label(row) + ": " + (row.reason || "no reason is given")));
  }
  if (invalid.length > most) list.append(make("li", {}, invalid.length - most + " more below"));
}

// ---- boards

function factsGroup(facts) {
  const list = make("dl");
  for (const [title, value] of facts.lines) list.append(make("dt", {}, title), make("dd", {}, value));
  return make("div", {}, make("h3", {}, facts.title),
              facts.lines.length > 0 ? list : make("p", {class: "note"}, facts.instead));
}

/// What was measured for the peaks, by width and size.
function peakRows(board) {
  if (board.peak_rows.length === 0) return null;
  const columns = [
    plainColumn("what", "name", {words: true, head: true}), plainColumn("dtype", "dtype", {words: true}),
    plainColumn("bytes", "bytes"), figureColumn("us", "us"), figureColumn("GFLOP/s", "gflop_per_s"),
    figureColumn("GB/s", "gb_per_s")
  ];
  return make("details", {}, make("summary", {}, "How the peaks were measured"),
              tableBox("Peaks of " + board.label, columns, board.peak_rows));
}

/// The peaks that no row could be held against: a device that lies has one sentence for each.
function missingPeaks(board) {
  if (board.refused.length === 0) return null;
  const list = make("ul", {}, ...board.refused.map((text) => make("li", {}, text)));
  return make("details", {class: "missing"},
              make("summary", {}, count(board.refused.length, "peak") + " not measured"), list);
}

function skippedReasons(board) {
  const reasons = new Map();
  for (const row of board.rows) {
    if (row.status !== "skipped") continue;
    reasons.set(row.reason, (reasons.get(row.reason) || 0) + 1);
  }
  return [...reasons].map(([reason, number]) => make(
      "p", {class: "note"}, "skipped (" + number + "): " + (reason || "no reason is given")));
}

function showBoards() {
  boards.forEach((board) => {
    byId("boards").append(make(
        "article", {class: "board"}, make("h2", {}, board.label),
        ...board.warnings.map((text) => make("p", {class: "warning"}, text)),
        make("div", {class: "groups"}, ...board.facts.map(factsGroup)), peakRows(board), missingPeaks(board),
        ...skippedReasons(board)));
  });
}

// ---- tables

/// Orders by a column; what has no value comes last either way, and equals keep their order.
function sorted(lines, column, descending) {
  const value = (line) => column.value(line);
  const order = (a, b) => typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", {numeric: true});
  return [...lines].sort((x, y) => {
    const a = value(x), b = value(y);
    if (!has(a) || !has(b)) return has(b) - has(a);
    return descending ? order(b, a) : order(a, b);
  });
}

/// A header cell; one with a value sorts, at the second click the other way round.
function headerCell(column, sort) {
  const cell = make("th", {scope: "col", class: (column.words ? "words " : "") + (column.class || "")});
  if (!column.value) {
    cell.append(column.title);
    return cell;
  }
  cell.classList.add("sorts");
  cell.setAttribute("aria-sort", "none");
  const button = make("button", {type: "button"}, column.title);
  button.addEventListener("click", () => sort(column, cell));
  cell.append(button);
  return cell;
}

/// A column of what lines have under a key.
const plainColumn = (title, key, more = {}) => ({
  title, value: (line) => line[key], cell: (line) => [line[key]], ...more
});

/// The figures of a wrong row are seen, but struck out.
function shownFigure(row, text) {
  return row.status === "INVALID" && text ? make("s", {}, text) : text;
}

/// A column of figures, as `text` says them.
const figureColumn = (title, key, text = figure) => ({
  title, key, value: (row) => row[key], cell: (row) => shownFigure(row, text(row[key]))
});

/// A table of `columns` {title, value(line), cell(line), words, head}; `show(lines)` fills it anew.
function sortableTable(columns, lines, rowClass) {
  const body = make("tbody");
  const head = make("tr");
  let shown = lines, by = null, descending = false;
  const draw = () => {
    body.replaceChildren(...(by ? sorted(shown, by, descending) : shown).map((line) => make(
        "tr", {class: rowClass(line)}, ...columns.map((column) => {
          const words = (column.words ? "words " : "") + (column.class || "");
          return column.head ? make("th", {scope: "row", class: words}, ...column.cell(line))
                             : make("td", {class: words}, ...[column.cell(line)].flat());
        }))));
  };
  const sort = (column, cell) => {
    descending = by === column ? !descending : false;
    by = column;
    for (const other of head.children) {
      if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
    }
    cell.setAttribute("aria-sort", descending ? "descending" : "ascending");
    draw();
  };
  head.append(...columns.map((column) => headerCell(column, sort)));
  draw();
  return {
    table: make("table", {}, make("thead", {}, head), body),
    show(some) {
      shown = some;
      draw();
    }
  };
}

/// Wide tables scroll in a box of their own, which the keyboard reaches too.
function scrolling(title, table) {
  return make("div", {class: "scroll", role: "region", tabindex: "0", "aria-label": title}, table);
}

const tableBox = (title, columns, lines) => scrolling(title, sortableTable(columns, lines, () => "").table);

function problemCell(row) {
  const small = (text, kind = "") => text ? make("small", {class: kind}, text) : null;
  const about = [row.variant, ...row.nodes].filter(Boolean).join(" \u00b7 ");
  return [row.name, small(about), small(row.marks.join("; "), "marks"),
          small(row.status === "OK" ? "" : row.reason, row.status === "INVALID" ? "reason" : "")]
      .filter(has);
}

function copyButton(row) {
  const button = make("button", {type: "button", title: row.command,
                                 "aria-label": "Copy the command that repeats " + label(row)}, "Copy");
  button.addEventListener("click", () => copy(row.command));
  return button;
}

/// The columns that at least one row has a figure for.
function columnsOfRows() {
  const worst = {INVALID: 0, OK: 1, skipped: 2};
  return [
    {title: "Status", words: true, value: (row) => worst[row.status],
     cell: (row) => make("span", {class: "status-" + row.status}, row.status)},
    {title: "Problem", words: true, head: true, value: (row) => row.name, cell: problemCell},
    {title: "Board", words: true, value: (row) => boards[row.board].label,
     cell: (row) => boards[row.board].label, only: several},
    plainColumn("dtype", "dtype", {words: true}),
    figureColumn("us", "us"),
    {title: "95 %", value: (row) => row.low, key: "low",
     cell: (row) => shownFigure(row, interval(row.low, row.high))},
    figureColumn("cv", "cv", percent), figureColumn("GFLOP/s", "gflop_per_s"), figureColumn("GB/s", "gb_per_s"),
    figureColumn("% of peak", "of_peak", percent), figureColumn("launches", "launches", (n) => has(n) ? String(n) : ""),
    {title: "predicted us, " + data.predicted_for, value: (row) => row.predicted_low, key: "predicted_low",
     cell: (row) => interval(row.predicted_low, row.predicted_high)},
    {title: "Repeat", class: "repeat", cell: copyButton}
  ].filter((column) => column.only !== false && (!column.key || rows.some((row) => has(row[column.key]))));
}

function sideCell(row) {
  if (!row) return "";
  if (row.status !== "OK") return make("span", {class: "status-" + row.status}, row.status);
  return figure(row.us) + (has(row.of_peak) ? " (" + percent(row.of_peak) + ")" : "");
}

/// One line a problem, a column a board; of two boards also how many times as long the second takes.
function showSideBySide() {
  const lines = new Map();
  for (const row of rows) {
    if (!lines.has(row.name)) lines.set(row.name, {name: row.name, rows: []});
    lines.get(row.name).rows[row.board] = row;
  }
  const time = (line, board) => {
    const row = line.rows[board];
    return row && row.status === "OK" ? row.us : undefined;
  };
  const times = (line) => has(time(line, 0)) && has(time(line, 1)) ? time(line, 1) / time(line, 0) : undefined;
  const columns = [
    plainColumn("Problem", "name", {words: true, head: true}),
    ...boards.map((board, i) => ({title: board.label, value: (line) => time(line, i),
                                  cell: (line) => sideCell(line.rows[i])}))
  ];
  if (boards.length === 2) {
    columns.push({title: "second / first", value: times, cell: (line) => figure(times(line))});
  }
  byId("side-by-side").hidden = false;
  byId("side-by-side").append(tableBox("Boards side by side", columns, [...lines.values()]));
}

// ---- models

/// Figures of one model have the same digits after the point.
const milliseconds = (us, whole) => has(us) ? (us / 1000).toFixed(whole < 1e4 ? 3 : 2) : "";

/// A share as a bar with its figure.
function shareCell(part, whole) {
  return [make("span", {class: "bar", style: "width: " + (3 * part / whole).toFixed(2) + "em"}),
          (100 * part / whole).toFixed(0) + " %"];
}

function modelColumns(first, more, whole) {
  return [
    plainColumn(first, "name", {words: true, head: true}), ...more,
    figureColumn("ms", "us", (us) => milliseconds(us, whole)),
    {title: "share", value: (line) => line.us, cell: (line) => shareCell(line.us, whole), class: "share"},
    figureColumn("floor ms", "floor_us", (us) => milliseconds(us, whole))
  ];
}

/// By op, and the nodes farthest above their floor, side by side where there is room.
function modelCard(board, model) {
  const ops = modelColumns("op", [plainColumn("nodes", "nodes")], model.us);
  const nodes = modelColumns("node", [plainColumn("op", "op", {words: true}), plainColumn("calls", "calls")], model.us);
  const title = model.name + (several ? " on " + board.label : "");
  const kind = has(model.floor_us) ? "farthest above their floor" : "that take most";
  const table = (name, columns, lines) => make(
      "div", {}, make("h4", {}, name), tableBox(title + ", " + name, columns, lines));
  return make("article", {class: "board"},
              make("h3", {}, title + ": " + milliseconds(model.us, model.us) + " ms" +
                   (model.left_out > 0 ? ", without " + count(model.left_out, "node") + " not measured" : "")),
              make("div", {class: "models"}, table("By op", ops, model.ops),
                   table("The nodes " + kind, nodes, model.farthest)));
}

function showModels() {
  const cards = boards.flatMap((board) => board.models.map((model) => modelCard(board, model)));
  byId("models").hidden = cards.length === 0;
  byId("models").append(...cards);
}

// ---- filters

const workloadsOf = (row) => row.nodes.map((node) => node.split(": ")[0]);

function fillSelect(form, name, values) {
  const select = form.elements[name];
  select.append(make("option", {value: ""}, "all"),
                ...values.map(([value, text]) => make("option", {value}, text)));
  select.parentElement.hidden = values.length < 2;
}

function passes(row, form) {
  const field = (name) => form.elements[name].value;
  if (row.status === "INVALID" && form.elements.invalid.checked) return true;
  if (row.status === "skipped" && !form.elements.skipped.checked) return false;
  const text = [row.name, row.op, row.dtype, row.variant, row.status, row.reason, ...row.nodes,
                ...row.marks, boards[row.board].label].join(" ").toLowerCase();
  return (!field("op") || row.op === field("op")) && (!field("dtype") || row.dtype === field("dtype")) &&
      (!field("board") || row.board === Number(field("board"))) &&
      (!field("workload") || workloadsOf(row).includes(field("workload"))) &&
      field("words").toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

function showRows() {
  const form = byId("filters");
  const same = (values) => unique(values).sort().map((value) => [value, value]);
  fillSelect(form, "op", same(rows.map((row) => row.op)));
  fillSelect(form, "dtype", same(rows.map((row) => row.dtype)));
  fillSelect(form, "board", boards.map((board, i) => [i, board.label]));
  fillSelect(form, "workload", same(rows.flatMap(workloadsOf)));
  const wrongFirst = [...rows].sort((a, b) => (b.status === "INVALID") - (a.status === "INVALID"));
  const table = sortableTable(columnsOfRows(), wrongFirst, (row) => row.status);
  byId("rows").append(scrolling("Rows", table.table));
  const skipped = rows.filter((row) => row.status === "skipped").length;
  form.elements.skipped.parentElement.hidden = skipped === 0;
  form.elements.invalid.parentElement.hidden = !rows.some((row) => row.status === "INVALID");
  const apply = () => {
    const some = wrongFirst.filter((row) => passes(row, form));
    table.show(some);
    byId("shown").textContent = some.length + " of " + count(rows.length, "row") + " shown";
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  apply();
}

// ---- copying

let copiedTimer;

function showCopied(...content) {
  const note = byId("copied");
  note.replaceChildren(...content);
  note.hidden = false;
  clearTimeout(copiedTimer);
  copiedTimer = setTimeout(() => { note.hidden = true; }, content.length > 1 ? 20000 : 3000);
}

/// Where nothing can be copied the command is shown, selected, for the keyboard to take.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return showCopied("Copied: " + text);
  } catch {
    // A browser may keep it from pages, or from those of file://.
  }
  const field = make("input", {readonly: "", "aria-label": "The command"});
  field.value = text;
  showCopied("This browser does not let a page copy; take it from here:", field);
  field.select();
}

// ---- charts

const colours = {
  light: ["#0b62a8", "#b3541e", "#0a7d5a", "#8a3a9e", "#7a6200", "#3d4650", "#c2185b", "#00758a"],
  dark: ["#6cb6ff", "#f0a070", "#5ed0a8", "#d59be8", "#d8c060", "#b6c0ca", "#ff8ab5", "#5fd0e0"]
};
const shapes = ["circle", "triangle", "rect", "rectRot"];
const dark = matchMedia("(prefers-color-scheme: dark)");
let printing = false;
const charts = [];

function theme() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return printing ? {ink: "#000000", quiet: "#444444", line: "#cccccc", bad: "#a00000", series: colours.light}
                  : {ink: of("--ink"), quiet: of("--quiet"), line: of("--line"), bad: of("--bad"),
                     series: dark.matches ? colours.dark : colours.light};
}

/// Draws into the figure, now and whenever light turns to dark or to paper. `config(theme)` makes
/// what Chart.js wants; `sentence` says it for those who do not see it.
function drawChart(id, sentence, height, config) {
  const box = byId(id);
  box.hidden = false;
  box.querySelector("p").textContent = sentence;
  const canvas = box.querySelector("canvas");
  canvas.setAttribute("aria-label", box.querySelector("h2").textContent + ". " + sentence +
      " The table of rows has the same figures.");
  if (height) box.querySelector(".canvas").style.height = height + "px";
  const chart = {draw() {
    if (chart.drawn) chart.drawn.destroy();
    const look = theme();
    Chart.defaults.color = look.quiet;
    Chart.defaults.borderColor = look.line;
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    const made = config(look);
    made.options = {animation: false, responsive: true, maintainAspectRatio: false, ...made.options};
    chart.drawn = new Chart(canvas, made);
  }};
  charts.push(chart);
  chart.draw();
}

const pointLegend = {usePointStyle: true, pointStyleWidth: 10, boxHeight: 7, padding: 12};
const axis = (title, more = {}) => ({title: {display: true, text: title}, ...more});

/// Ticks of a logarithmic axis at 1 of a decade, and at 2 and 5 where there are few decades.
function logTicks(value, index, ticks) {
  const digit = value / 10 ** Math.floor(Math.log10(value) + 1e-9);
  const decades = Math.log10(ticks[ticks.length - 1].value / ticks[0].value);
  const shown = (decades < 2.5 ? [1, 2, 5] : [1]).some((wanted) => Math.abs(digit - wanted) < 1e-6);
  return shown ? String(Number(value.toPrecision(3))) : null;
}

/// The ends of a logarithmic axis, so that no point lies on its edge.
function logEnds(values) {
  return {min: Math.min(...values) / 1.6, max: Math.max(...values) * 1.6};
}

/// The measured roofs of a board in one dtype: a slope by the copy rate up to the peak, and along it.
function roof(board, dtype, from, to) {
  const peak = board.peaks?.["gflops_" + dtype], copy = board.peaks?.gb_per_s_copy;
  if (!has(peak) && !has(copy)) return null;
  const at = (x) => Math.min(has(peak) ? peak : Infinity, has(copy) ? copy * x : Infinity);
  const knee = has(peak) && has(copy) ? peak / copy : from;
  const points = [from, knee, to].filter((x) => x >= from && x <= to).map((x) => ({x, y: at(x)}));
  const words = [has(peak) ? dtype + " " + figure(peak) + " GFLOP/s" : "", has(copy) ? "copy " + figure(copy) + " GB/s" : ""];
  return {points, words: words.filter(Boolean).join(", ")};
}

function roofDatasets(look, from, to) {
  return boards.flatMap((board, index) => ["f32", "f16"].flatMap((dtype) => {
    const used = rows.some((row) => row.board === index && row.dtype === dtype && has(row.flop_per_byte));
    const made = used ? roof(board, dtype, from, to) : null;
    const alone = dtype === "f32" ? look.ink : look.quiet;
    const colour = several ? look.series[index % look.series.length] : alone;
    // A phone is too narrow for the figures and the board's name; the cards have the figures.
    return made ? [{type: "line", label: several ? dtype + " peaks of " + board.label : "peaks: " + made.words,
                    data: made.points, pointRadius: 0, pointHitRadius: 0, borderWidth: 2, borderColor: colour,
                    backgroundColor: colour, borderDash: dtype === "f16" ? [6, 4] : [], pointStyle: "line"}] : [];
  }));
}

/// Points by op, or by board where there are several; hollow in f16, a cross where INVALID.
function pointDatasets(look, points) {
  const point = (row) => ({x: row.flop_per_byte, y: row.gflop_per_s, row});
  const keys = unique(points.map((row) => several ? row.board : row.op));
  const sets = keys.map((key, i) => {
    const colour = look.series[(several ? key : i) % look.series.length];
    const mine = points.filter((row) => row.status === "OK" && (several ? row.board : row.op) === key);
    return {label: several ? boards[key].label : key, data: mine.map(point),
            pointStyle: shapes[(i + Math.floor(i / look.series.length)) % shapes.length], radius: 4.5, hoverRadius: 6,
            borderColor: colour, backgroundColor: mine.map((row) => row.dtype === "f16" ? "transparent" : colour + "b0")};
  });
  const wrong = points.filter((row) => row.status === "INVALID");
  if (wrong.length > 0) {
    sets.push({label: "INVALID", data: wrong.map(point),
               pointStyle: "crossRot", radius: 7, borderWidth: 2.5, borderColor: look.bad, backgroundColor: look.bad});
  }
  return sets.filter((set) => set.data.length > 0);
}

function rooflineSentence(points) {
  const measured = rows.filter((row) => has(row.us));
  const without = measured.length - points.length;
  const roofs = boards.some((board) => has(board.peaks));
  return "Each point is a row. " +
      (roofs ? "Lines are peaks measured in the same run; a point above the slope has its data in a cache."
             : "Peaks were not measured in this run, so there are no lines.") +
      (points.some((row) => row.dtype === "f16") ? " Hollow points and broken lines are f16." : "") +
      (points.some((row) => row.status === "INVALID") ? " Crosses are INVALID: what the driver claims." : "") +
      (without > 0 ? " " + count(without, "row") + " without floating-point work " +
                     (without === 1 ? "is" : "are") + " in the table alone." : "");
}

function tooltipOf(row) {
  return [label(row), (row.status === "INVALID" ? "INVALID, " : "") + figure(row.us) + " us",
          figure(row.gflop_per_s) + " GFLOP/s" + (has(row.of_peak) ? ", " + percent(row.of_peak) + " of the peak" : "")];
}

function showRoofline() {
  const points = rows.filter((row) => has(row.flop_per_byte) && has(row.gflop_per_s) && row.gflop_per_s > 0);
  if (points.length === 0) return;
  const knees = boards.map((board) => board.peaks?.gflops_f32 / board.peaks?.gb_per_s_copy).filter(Number.isFinite);
  const peaks = boards.flatMap((board) => [board.peaks?.gflops_f32, board.peaks?.gflops_f16]).filter(has);
  const x = logEnds([...points.map((row) => row.flop_per_byte), ...knees]);
  const y = logEnds([...points.map((row) => row.gflop_per_s), ...peaks]);
  drawChart("roofline", rooflineSentence(points), 0, (look) => ({
    type: "scatter",
    data: {datasets: [...pointDatasets(look, points), ...roofDatasets(look, x.min, x.max)]},
    options: {
      scales: {x: axis("FLOP a byte of the operands", {type: "logarithmic", ...x, ticks: {callback: logTicks, maxRotation: 0}}),
               y: axis("GFLOP/s", {type: "logarithmic", ...y, ticks: {callback: logTicks}})},
      plugins: {legend: {position: "bottom", labels: {...pointLegend, color: look.ink}},
                tooltip: {callbacks: {label: (item) => item.raw.row ? tooltipOf(item.raw.row) : item.dataset.label}}}
    }
  }));
}

/// Of the rows of an op on a board: the time that the floors would take over the time they took, the
/// least and the most of a row.
function shareOf(op, board) {
  const mine = rows.filter((row) => row.op === op && row.board === board && row.status === "OK" &&
                                    has(row.of_peak) && row.us > 0);
  if (mine.length === 0) return null;
  const sum = (of) => mine.reduce((total, row) => total + of(row), 0);
  const all = mine.map((row) => row.of_peak);
  return {share: sum((row) => row.of_peak * row.us) / sum((row) => row.us), least: Math.min(...all),
          most: Math.max(...all), rows: mine.length};
}

/// A thin line over each bar, from the op's least row to its most.
const whiskers = {
  id: "whiskers",
  afterDatasetsDraw(chart) {
    const {ctx, scales: {x}} = chart;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = chart.options.plugins.whiskers.colour;
    ctx.lineWidth = 1.5;
    chart.data.datasets.forEach((set, i) => chart.getDatasetMeta(i).data.forEach((bar, j) => {
      const share = set.shares[j];
      if (!share || share.rows < 2) return;
      const left = x.getPixelForValue(100 * share.least), right = x.getPixelForValue(100 * share.most);
      ctx.beginPath();
      for (const end of [left, right]) ctx.moveTo(end, bar.y - 4), ctx.lineTo(end, bar.y + 4);
      ctx.moveTo(left, bar.y), ctx.lineTo(right, bar.y);
      ctx.stroke();
    }));
    ctx.restore();
  }
};

function showShares() {
  const best = (op) => Math.max(...boards.map((_, i) => shareOf(op, i)?.share ?? -1));
  const ops = unique(rows.map((row) => row.op)).filter((op) => best(op) >= 0).sort((a, b) => best(b) - best(a));
  if (ops.length === 0) return;
  const sets = boards.map((board, i) => ({board, shares: ops.map((op) => shareOf(op, i))}));
  const most = 100 * Math.max(...sets.flatMap((set) => set.shares.filter(Boolean).map((share) => share.most)));
  drawChart("shares", "A bar is an op's whole time: what the measured peaks would need over what it took. " +
      "Thin lines go from its least row to its most. INVALID rows are not in it.",
      90 + ops.length * (16 + 14 * boards.length), (look) => ({
    type: "bar",
    plugins: [whiskers],
    data: {labels: ops, datasets: sets.map((set, i) => ({
      label: set.board.label, shares: set.shares, data: set.shares.map((share) => share ? 100 * share.share : null),
      backgroundColor: look.series[i % look.series.length] + "c0"}))},
    options: {
      indexAxis: "y",
      scales: {x: axis("% of the measured peak", {min: 0, suggestedMax: 1.02 * most}), y: {ticks: {autoSkip: false, color: look.ink}}},
      plugins: {legend: {display: several, position: "bottom", labels: {color: look.ink}}, whiskers: {colour: look.ink},
                tooltip: {callbacks: {label: (item) => {
                  const share = item.dataset.shares[item.dataIndex];
                  return percent(share.share) + " (" + count(share.rows, "row") + ", " + percent(share.least) +
                      " to " + percent(share.most) + ")" + (several ? ", " + item.dataset.label : "");
                }}}}
    }
  }));
}

/// The words in lines of at most `width` characters; three lines at most.
function wrapped(text, width) {
  const lines = [""];
  for (const word of text.split(" ")) {
    if (lines[lines.length - 1].length + word.length > width) lines.push("");
    lines[lines.length - 1] = (lines[lines.length - 1] + " " + word).trim();
  }
  const some = lines.filter(Boolean);
  return some.length > 3 ? [...some.slice(0, 2), some[2] + "\u2026"] : some;
}

/// Bars are a model's word, points are measured: never one line of both.
function showPredicted() {
  const most = 40;
  const all = rows.filter((row) => has(row.predicted_low) && has(row.predicted_high));
  if (all.length === 0) return;
  const some = [...all].sort((a, b) => b.predicted_high - a.predicted_high).slice(0, most);
  const narrow = innerWidth < 640;
  const labels = some.map((row) => wrapped(label(row), narrow ? 20 : 40));
  const lines = Math.max(...labels.map((label) => label.length));
  const us = (row) => row.status === "OK" && has(row.us) ? row.us : null;
  drawChart("predicted", "Bars are predicted for " + data.predicted_for + ", and never run. Points are measured." +
      (all.length > most ? " The " + most + " longest of " + all.length + " rows." : ""),
      110 + (10 + 15 * lines) * some.length, (look) => ({
    type: "bar",
    data: {labels, datasets: [
      {type: "line", label: "measured", data: some.map(us), showLine: false, pointStyle: "circle", pointRadius: 5,
       borderColor: look.series[0], backgroundColor: look.series[0]},
      {label: "predicted for " + data.predicted_for + ", never run", data: some.map((row) => [row.predicted_low, row.predicted_high]),
       backgroundColor: look.quiet + "60", borderColor: look.quiet, borderWidth: 1, borderSkipped: false, pointStyle: "rect"}]},
    options: {
      indexAxis: "y",
      scales: {x: axis("us of one call", {type: "logarithmic", ticks: {callback: logTicks, maxRotation: 0}}),
               y: {ticks: {autoSkip: false, color: look.ink}}},
      plugins: {legend: {position: "bottom", labels: {...pointLegend, color: look.ink}},
                tooltip: {callbacks: {title: (items) => label(some[items[0].dataIndex])}}}
    }
  }));
}

/// Chart.js 2, of older systems, has another interface.
function showCharts() {
  if (typeof Chart === "undefined" || !(parseInt(Chart.version) >= 3)) {
    byId("no-charts").hidden = false;
    return;
  }
  showRoofline();
  showShares();
  showPredicted();
  const redraw = () => charts.forEach((chart) => chart.draw());
  dark.addEventListener("change", redraw);
  addEventListener("beforeprint", () => { printing = true; redraw(); });
  addEventListener("afterprint", () => { printing = false; redraw(); });
}

showHead();
showBoards();
showModels();
if (several) showSideBySide();
showRows();
showCharts();
