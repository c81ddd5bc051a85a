// Tables: a click on a heading sorts, a click on a row goes to its time; any table can be saved as CSV.

function sortable(table) {
  downloads(table);
  named(table);
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

// Every cell knows its heading: a phone shows it before the value.
function named(table) {
  const names = [...table.tHead.rows[0].cells].map((one) => one.textContent);
  for (const row of table.tBodies[0].rows) {
    for (const cell of row.cells) cell.dataset.name = names[cell.cellIndex];
  }
  table.classList.add("named");
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

// A button above a table of several rows that saves it as CSV: the rows that are shown, numbers unrounded.
function downloads(table) {
  const holder = table.closest(".scroll");
  if (!holder || table.tBodies[0].rows.length < 2 || holder.previousElementSibling?.className === "csv") return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "csv";
  button.textContent = "CSV";
  button.title = "Save this table as a CSV file";
  button.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csvOf(table)], { type: "text/csv" }));
    link.download = holder.getAttribute("aria-label").toLowerCase().replace(/[^a-z0-9]+/g, "-") + ".csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  });
  holder.before(button);
}

function csvOf(table) {
  const shown = (row) => !row.hidden;
  const quoted = (words) => (/[",\r\n]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words);
  const cell = (one) => {
    if (!("value" in one.dataset)) {
      // What a trace named must not become a formula.
      const words = one.textContent.trim();
      return quoted(/^[=+\-@\t\r]/.test(words) ? "'" + words : words);
    }
    return one.dataset.value === "NaN" ? "" : one.dataset.value;
  };
  const rows = [table.tHead.rows[0], ...[...table.tBodies[0].rows].filter(shown)];
  return rows.map((row) => [...row.cells].filter(shown).map(cell).join(",")).join("\n") + "\n";
}
