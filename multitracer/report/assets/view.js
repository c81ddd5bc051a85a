// The views of the page: all connections or one. Sections, figure and numbers change together.

const SECTIONS = ["diagnosis", "figures", "tables", "sources", "subtitle"];

class Views {
  constructor(card, theme) {
    this.card = card;
    this.theme = theme; // which one holds now
    this.plot = null;
    this.key = null;
    this.turn = 0;
    const block = document.getElementById("figure-data");
    const sections = {};
    for (const name of SECTIONS) sections[name] = document.getElementById(name).innerHTML;
    this.first = { sections, figure: block && JSON.parse(block.textContent), points: null };
  }

  // All of a view; that of the page as it was written needs no unpacking.
  async read(key) {
    if (key === "all") return this.first;
    const block = document.getElementById("view-" + key);
    if (!block) return null;
    return JSON.parse(new TextDecoder().decode(await inflate(JSON.parse(block.textContent))));
  }

  // Show a view; false if the page does not hold it, or another was asked for meanwhile.
  async show(key) {
    if (key === this.key) return true;
    const turn = ++this.turn;
    const view = await this.read(key);
    if (!view || turn !== this.turn) return false;
    const before = this.key;
    this.key = key;
    this.card.close();
    this.card.about = view.points;
    if (this.plot) this.plot.close();
    this.plot = null;
    if (before !== null) {
      // Made by the program with every word of a trace escaped, as the rest of this page; no script runs in it.
      for (const name of SECTIONS) document.getElementById(name).innerHTML = view.sections[name];
    }
    document.querySelectorAll("main table.sortable").forEach(sortable);
    if (view.figure) {
      const plot = new Plot(structuredClone(view.figure), document.getElementById("figure"));
      this.plot = plot;
      delete document.documentElement.dataset.data;
      await plot.show(this.theme());
      if (turn !== this.turn) {
        plot.close();
        return false;
      }
      plot.dress(this.theme());
      this.wire(plot);
    }
    return true;
  }

  // The figure's buttons, the legend, and all that goes to a place in it.
  wire(plot) {
    const figures = document.getElementById("figures");
    const go = (from, to) => {
      plot.go(from, to);
      figures.scrollIntoView({ block: "start", behavior: "instant" });
    };
    document.querySelectorAll("main [data-from]").forEach((one) => goesTo(one, go));
    document.querySelectorAll("#legend button").forEach((button) => {
      pressed(button, (on) => plot.toggle(button.dataset.layer, on));
    });
    pressed(document.getElementById("clock"), (on) => plot.clock(on));
    const fold = document.getElementById("fold");
    pressed(fold, (on) => plot.fold(on));
    document.querySelectorAll("#bar [data-key]").forEach((button) => {
      button.addEventListener("click", () => this.press(button.dataset.key));
    });
    const link = document.getElementById("link");
    link.addEventListener("click", async () => {
      const address = addressOf(this.key, this.moved() ? this.window() : null);
      history.replaceState(null, "", address);
      link.textContent = (await copied(location.href)) ? "Link copied" : "Link is in the address bar";
    });
    if (plot.about.fold && plot.about.fold.on) fold.click();
    plot.later();
  }

  // The window of the figure in true time, and whether it is another than at first.
  window() {
    return [this.plot.time(this.plot.x.start), this.plot.time(this.plot.x.end)];
  }

  moved() {
    return this.window().some((edge, i) => Math.abs(edge - this.plot.about.window[i]) > 1e-9);
  }

  look([from, to]) {
    if (!this.plot) return;
    this.plot.byHand.clear();
    this.plot.move(this.plot.at(from), this.plot.at(to));
    this.plot.later();
  }

  // A key or the button that stands for it; whether it means something.
  press(key) {
    const plot = this.plot;
    const keys = {
      ArrowLeft: () => plot.pan(-0.2),
      ArrowRight: () => plot.pan(0.2),
      "+": () => plot.zoom(0.5),
      "=": () => plot.zoom(0.5),
      "-": () => plot.zoom(2),
      0: () => plot.home(),
    };
    if (!plot || !(key in keys)) return false;
    keys[key]();
    return true;
  }
}

function pressed(button, act) {
  if (!button) return;
  button.addEventListener("click", () => {
    const on = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(on));
    act(on);
  });
}

// The list of connections: search as you type, choose with a click or Enter.
function chooses(choose) {
  const list = document.getElementById("chooser");
  if (!list) return;
  sortable(list.querySelector("table.sortable"));
  const search = document.getElementById("search");
  const rows = [...list.querySelectorAll("tbody tr")];
  const text = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const shown = document.getElementById("matching");
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) row.hidden = !words.every((word) => text.get(row).includes(word));
    const found = rows.filter((row) => !row.hidden).length;
    shown.textContent = words.length ? `${found} of ${rows.length}` : "";
  });
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    const first = [...list.querySelectorAll("tbody tr")].find((row) => !row.hidden);
    if (first) choose(first.dataset.view);
  });
  list.querySelectorAll("[data-view]").forEach((one) => {
    one.addEventListener("click", () => {
      if (!window.getSelection().toString()) choose(one.dataset.view);
    });
  });
}

// Say which one is shown.
function marked(key) {
  const list = document.getElementById("chooser");
  if (!list) return;
  for (const one of list.querySelectorAll("[data-view]")) {
    const here = one.dataset.view === key;
    if (one.tagName === "BUTTON") one.setAttribute("aria-pressed", String(here));
    else if (here) one.dataset.here = "";
    else delete one.dataset.here;
    if (!here) continue;
    const words = one.tagName === "BUTTON" ? one.textContent : one.cells[0].textContent + ": " + one.cells[1].textContent;
    document.getElementById("chosen").textContent = words;
  }
}
