// A view as the end of the page's address: #conn=7&from=1.5&to=3.25

function addressOf(key, window_) {
  const parts = [];
  if (key !== "all") parts.push("conn=" + key);
  if (window_) parts.push("from=" + trimmed(window_[0]), "to=" + trimmed(window_[1]));
  return "#" + (parts.join("&") || "conn=all");
}

// What an address names; null for the anchor of a chapter. Numbers only: nothing else of it is used.
function viewNamed(hash) {
  if (!hash.includes("=")) return null;
  const given = new URLSearchParams(hash.slice(1));
  const number = (name) => (/^-?\d{1,12}(\.\d{1,9})?$/.test(given.get(name) ?? "") ? Number(given.get(name)) : null);
  const [from, to] = [number("from"), number("to")];
  const conn = given.get("conn") ?? "all";
  return {
    key: /^\d{1,9}$/.test(conn) ? String(Number(conn)) : "all",
    window: from !== null && to !== null && from < to ? [from, to] : null,
  };
}

function trimmed(seconds) {
  return String(Number(seconds.toFixed(6)));
}
