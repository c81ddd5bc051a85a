// Index of a batch: tables that sort, a table that filters.

(function start() {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  document.querySelectorAll("table.sortable").forEach(sortable);
  document.getElementById("theme").addEventListener("click", () => {
    const now = root.dataset.theme || (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
  });

  const table = document.getElementById("measurements");
  if (!table) { root.dataset.ready = "yes"; return; }
  const find = document.getElementById("find");
  const most = document.getElementById("most");
  const selects = [...document.querySelectorAll("#filters select")];
  const rows = [...table.tBodies[0].rows];
  const words = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));

  function apply() {
    const wanted = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const limit = most.value === "" ? null : Number(most.value);
    let shown = 0;
    for (const row of rows) {
      const value = row.cells[2].dataset.value;
      const fits =
        wanted.every((word) => words.get(row).includes(word)) &&
        (limit === null || (value !== undefined && value !== "" && Number(value) <= limit)) &&
        selects.every((one) => one.value === "" || row.cells[one.dataset.column].textContent === one.value);
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    document.getElementById("count").textContent = shown + " of " + rows.length + " shown";
  }
  for (const box of document.querySelectorAll("#columns input")) {
    const choose = () => {
      for (const row of table.rows) row.cells[box.dataset.column].hidden = !box.checked;
    };
    box.addEventListener("change", choose);
    if (!box.checked) choose();
  }
  for (const one of [find, most, ...selects]) one.addEventListener("input", apply);
  root.dataset.ready = "yes";
})();
