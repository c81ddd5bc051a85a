// Wiring of the page.

(async function start() {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => root.dataset.theme || (dark.matches ? "dark" : "light");
  document.querySelectorAll("table.sortable").forEach(sortable);

  const block = document.getElementById("figure-data");
  const holder = document.getElementById("figure");
  let plot = null;
  if (block) {
    plot = new Plot(JSON.parse(block.textContent), holder);
    await plot.show(chosen());
  }
  const dress = () => plot && plot.dress(chosen());
  dress();
  dark.addEventListener("change", dress);
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = chosen() === "dark" ? "light" : "dark";
    dress();
  });
  if (!plot) {
    root.dataset.ready = "yes";
    return;
  }

  const figures = document.getElementById("figures");
  const go = (from, to) => {
    plot.go(from, to);
    figures.scrollIntoView({ block: "start", behavior: "instant" });
  };
  document.querySelectorAll("[data-from]").forEach((element) => goesTo(element, go));
  document.querySelectorAll("#legend button").forEach((button) => {
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      plot.toggle(button.dataset.layer, on);
    });
  });
  const pressed = (button, act) => {
    if (!button) return;
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      act(on);
    });
  };
  pressed(document.getElementById("clock"), (on) => plot.clock(on));
  const fold = document.getElementById("fold");
  pressed(fold, (on) => plot.fold(on));
  const keys = {
    ArrowLeft: () => plot.pan(-0.2),
    ArrowRight: () => plot.pan(0.2),
    "+": () => plot.zoom(0.5),
    "=": () => plot.zoom(0.5),
    "-": () => plot.zoom(2),
    0: () => plot.home(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea")) return;
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
  document.querySelectorAll("#bar [data-key]").forEach((button) => {
    button.addEventListener("click", () => keys[button.dataset.key]());
  });
  const shown = document.getElementById("shown");
  document.addEventListener("window", ({ detail }) => {
    shown.textContent = detail.start.toFixed(3) + " s to " + detail.end.toFixed(3) + " s";
  });
  if (plot.about.fold && plot.about.fold.on) fold.click();
  plot.later();
  root.dataset.ready = "yes";

  // The packed data follows this script: it is there once the whole page is.
  if (document.readyState === "loading") {
    await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve));
  }
  requestAnimationFrame(() => setTimeout(() => plot.complete()));
})();
