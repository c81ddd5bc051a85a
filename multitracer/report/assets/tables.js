// Tables: a click on a heading sorts, a click on a row goes to its time.

function sortable(table) {
  table.querySelectorAll("thead button").forEach((button) => {
    button.addEventListener("click", () => {
      const heading = button.closest("th");
      const column = [...heading.parentNode.children].indexOf(heading);
      const down = heading.getAttribute("aria-sort") === "ascending";
      for (const other of heading.parentNode.children) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const body = table.tBodies[0];
      const key = (row) => {
        const cell = row.cells[column];
        return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent;
      };
      const rows = [...body.rows].map((row) => [key(row), row]);
      const sign = down ? -1 : 1;
      // Cells without a number come last, whichever way.
      const rank = (value) => (value === "" || Number.isNaN(value) ? 1 : 0);
      rows.sort(([a], [b]) => {
        if (rank(a) !== rank(b)) return rank(a) - rank(b);
        if (typeof a === "number" && typeof b === "number") return sign * (a - b);
        return sign * String(a).localeCompare(String(b), undefined, { numeric: true });
      });
      body.append(...rows.map(([, row]) => row));
    });
  });
}

function goesTo(element, go) {
  const from = Number(element.dataset.from);
  const to = Number(element.dataset.to);
  element.addEventListener("click", (event) => {
    if (window.getSelection().toString() && !event.target.closest("button")) return;
    document.querySelectorAll("[data-here]").forEach((other) => delete other.dataset.here);
    element.dataset.here = "";
    go(from, to);
  });
}
