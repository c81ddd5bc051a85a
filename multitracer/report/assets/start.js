// Wiring of the page.

(async function start() {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = () => root.dataset.theme || (dark.matches ? "dark" : "light");
  const card = new PointCard(document.getElementById("point"));
  const views = new Views(card, theme);
  const dress = () => views.plot && views.plot.dress(theme());
  dark.addEventListener("change", dress);
  document.getElementById("theme").addEventListener("click", () => {
    root.dataset.theme = theme() === "dark" ? "light" : "dark";
    dress();
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea")) return;
    if (views.press(event.key)) event.preventDefault();
  });
  document.addEventListener("window", ({ detail }) => {
    const shown = document.getElementById("shown");
    if (shown) shown.textContent = detail.start.toFixed(3) + " s to " + detail.end.toFixed(3) + " s";
  });
  await views.show("all");
  root.dataset.ready = "yes";

  // The packed data follows this script: it is there once the whole page is.
  if (document.readyState === "loading") {
    await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve));
  }
  const packed = JSON.parse(document.getElementById("points-data").textContent).packed;
  views.first.points = JSON.parse(new TextDecoder().decode(await inflate(packed)));
  card.about = views.first.points;

  // What is looked at is drawn first; the rest of its points come behind.
  const show = async ({ key, window }) => {
    root.dataset.view = "";
    if (await views.show(key)) {
      marked(key);
      if (window) views.look(window);
      root.dataset.view = key;
      requestAnimationFrame(() => setTimeout(() => views.plot && views.plot.complete()));
    } else if (key !== "all" && !document.getElementById("view-" + key)) {
      // An address may name a connection that this page does not have.
      await show({ key: "all", window });
    }
  };
  const named = () => viewNamed(location.hash);
  chooses((key) => {
    history.replaceState(null, "", addressOf(key, null));
    show({ key, window: null });
  });
  window.addEventListener("hashchange", () => named() && show(named()));
  await show(named() || { key: "all", window: null });
})();
