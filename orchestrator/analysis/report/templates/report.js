"use strict";

const page = JSON.parse(document.getElementById("figures").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const print = window.matchMedia("print");
// In another page's frame (MLflow's) neither clipboard nor downloads are to be had.
const framed = window.self !== window.top;
const PRINTED_WIDTH = 680;
const ROWS_TO_FILTER = 10;

for (const media of [dark, print]) media.addEventListener("change", drawAll);
drawAll();
for (const name of Object.keys(page.figures)) addFigureTools(name);
document.querySelectorAll(".scroll > table").forEach(addTableTools);
document.querySelectorAll("pre").forEach((pre) => {
  const tools = toolsAfter(pre);
  tools.append(copyButton("Copy", () => pre.textContent));
});
document.querySelectorAll("table.sortable").forEach((table) => {
  table.tHead.querySelectorAll("th").forEach((title, column) => {
    title.querySelector("button").addEventListener("click", () => sortBy(table, title, column));
  });
});

// -- figures

function drawAll() {
  for (const [name, figure] of Object.entries(page.figures)) draw(name, figure);
}

function draw(name, figure) {
  const isDark = dark.matches && !print.matches;
  const shown = isDark ? tinted(figure) : structuredClone(figure);
  const layout = { ...shown.layout, uirevision: "kept" };
  if (print.matches) layout.width = PRINTED_WIDTH;
  Plotly.react(name, shown.data, layout, { responsive: true, displayModeBar: false });
}

// Every colour of the light palette as it is on a dark screen.
function tinted(node) {
  if (typeof node === "string") return page.dark[node] ?? node;
  if (Array.isArray(node)) return node.map(tinted);
  if (node === null || typeof node !== "object") return node;
  return Object.fromEntries(Object.entries(node).map(([key, part]) => [key, tinted(part)]));
}

function addFigureTools(name) {
  const figure = page.figures[name];
  const tools = toolsAfter(document.getElementById(name).parentNode);
  if (figure.columns.length) {
    const lines = () => [figure.columns, ...figure.columns.length ? turned(figure.rows) : []];
    addCsv(tools, name, () => csvOf(lines()));
  }
  if (!framed) tools.append(button("Save SVG", () => saveSvg(name, figure)));
}

// As on paper, whatever the screen is like.
function saveSvg(name, figure) {
  const { data, layout } = structuredClone(figure);
  const size = { width: 900, height: layout.height ?? 450 };
  Plotly.downloadImage({ data, layout: { ...layout, ...size } }, { format: "svg", filename: name, ...size });
}

function turned(columns) {
  return columns[0].map((_, row) => columns.map((column) => column[row]));
}

// -- tables

function addTableTools(table) {
  const tools = toolsAfter(table.parentNode);
  const rest = table.querySelectorAll("th.r").length;
  if (rest) {
    const more = `Show ${rest} more column${rest === 1 ? "" : "s"}`;
    table.classList.add("folded");
    const toggle = button(more, () => {
      toggle.textContent = table.classList.toggle("folded") ? more : "Show fewer columns";
    });
    tools.append(toggle);
  }
  if (table.tBodies[0].rows.length >= ROWS_TO_FILTER) tools.append(filterOf(table));
  const name = (table.getAttribute("aria-label") || "table").toLowerCase().replace(/[^a-z0-9]+/g, "-");
  addCsv(tools, name, () => csvOf([...table.rows].map((row) => [...row.cells].map(valueOf))));
}

// Shows the rows that have every word of what is typed.
function filterOf(table) {
  const field = document.createElement("input");
  field.type = "search";
  field.placeholder = "Filter rows";
  field.setAttribute("aria-label", "Filter rows");
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
  return field;
}

// The title of a column without the unit, the number of a cell without the thousands' commas.
function valueOf(cell) {
  if (cell.tagName === "TH") return cell.dataset.name ?? cell.textContent.trim();
  const key = keyOf(cell);
  return key === "" ? "" : cell.classList.contains("n") ? key : cell.innerText.trim();
}

// Empty cells stay last in both directions: not measured is neither small nor large.
function sortBy(table, title, column) {
  const direction = title.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  for (const other of title.parentNode.children) other.removeAttribute("aria-sort");
  title.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row) => ({ row, key: keyOf(row.cells[column]) }));
  keyed.sort((a, b) => {
    if (a.key === "" || b.key === "") return (a.key === "") - (b.key === "");
    if (typeof a.key === "number" && typeof b.key === "number") return direction * (a.key - b.key);
    return direction * String(a.key).localeCompare(String(b.key));
  });
  body.append(...keyed.map((item) => item.row));
}

function keyOf(cell) {
  return "sort" in cell.dataset ? Number(cell.dataset.sort) : cell.textContent.trim();
}

// -- copies

function csvOf(rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

function addCsv(tools, name, text) {
  tools.append(copyButton("Copy CSV", text));
  if (!framed) tools.append(button("Save CSV", () => save(text(), `${name}.csv`)));
}

function save(text, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

function copyButton(words, text) {
  const copy = button(words, async () => {
    if (!(await copied(text()))) return show(text(), copy);
    copy.textContent = "Copied";
    window.setTimeout(() => (copy.textContent = words), 1500);
  });
  copy.setAttribute("aria-live", "polite");
  return copy;
}

async function copied(text) {
  if (framed || !navigator.clipboard) return false;
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

// The text itself, selected, where the clipboard is out of reach; a second click hides it.
function show(text, beside) {
  const there = beside.parentNode.querySelector("textarea");
  if (there) return there.remove();
  const area = document.createElement("textarea");
  area.readOnly = true;
  area.value = text;
  area.setAttribute("aria-label", "Text to copy");
  beside.parentNode.append(area);
  area.focus();
  area.select();
}

function button(words, click) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = words;
  made.addEventListener("click", click);
  return made;
}

function toolsAfter(element) {
  const tools = document.createElement("div");
  tools.className = "tools";
  element.after(tools);
  return tools;
}
