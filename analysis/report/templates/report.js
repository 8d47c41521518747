"use strict";

const figures = JSON.parse(document.getElementById("figures").textContent);
for (const [name, figure] of Object.entries(figures)) {
  Plotly.newPlot(name, figure.data, figure.layout, { responsive: true, displayModeBar: false });
}

for (const table of document.querySelectorAll("table.sortable")) {
  table.tHead.rows[0].querySelectorAll("th").forEach((title, column) => {
    title.tabIndex = 0;
    const sort = () => sortBy(table, title, column);
    title.addEventListener("click", sort);
    title.addEventListener("keydown", (event) => event.key === "Enter" && sort());
  });
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
