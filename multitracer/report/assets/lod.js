// Which rows of a layer draw a window: all of them while they are few, else the same picture with fewer.
// The rules are those of decimate.py.

const FEW = 4000; // rows that are drawn whatever they hide
const CELL = 2; // pixels: the grain of a cloud, smaller than its symbols

function lowerBound(values, wanted) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Rows [first, last) that can touch the window, with the neighbours towards which a line leaves it.
function rowsIn(layer, start, end) {
  const x = layer.all.x;
  const curve = layer.kind === "steps" || layer.kind === "line";
  let first = lowerBound(x, start - layer.reach);
  let last = lowerBound(x, end);
  while (last < x.length && x[last] <= end) last++;
  if (curve) {
    first = Math.max(0, first - 1);
    last = Math.min(x.length, last + 1);
  }
  return [first, last];
}

// First, lowest, highest and last row of each pixel column (M4).
function thinCurve(x, y, first, last, start, end, columns) {
  const rows = [];
  const scale = columns / (end - start);
  let at = first;
  while (at < last) {
    const column = Math.floor((x[at] - start) * scale);
    let low = at;
    let high = at;
    let next = at + 1;
    while (next < last && Math.floor((x[next] - start) * scale) === column) {
      if (y[next] < y[low]) low = next;
      if (y[next] > y[high]) high = next;
      next++;
    }
    for (const row of [at, Math.min(low, high), Math.max(low, high), next - 1]) {
      if (!rows.length || rows[rows.length - 1] < row) rows.push(row);
    }
    at = next;
  }
  return rows;
}

// The first row of each cell that is hit: what lies in the same cell would lie under its symbol.
function thinCloud(x, y, first, last, start, end, low, high, width, height) {
  const columns = Math.max(1, Math.ceil(width / CELL));
  const lines = Math.max(1, Math.ceil(height / CELL));
  const hit = new Uint8Array(columns * lines);
  const across = columns / (end - start);
  const up = lines / (high - low);
  const rows = [];
  for (let i = first; i < last; i++) {
    const line = Math.floor((y[i] - low) * up);
    if (line < 0 || line >= lines) continue;
    const column = Math.min(columns - 1, Math.max(0, Math.floor((x[i] - start) * across)));
    const cell = column * lines + line;
    if (hit[cell]) continue;
    hit[cell] = 1;
    rows.push(i);
  }
  return rows;
}

// Of things with an extent, the longest that begins in each pixel column.
function thinExtents(x, x1, first, last, start, end, columns) {
  const best = new Int32Array(columns).fill(-1);
  const scale = columns / (end - start);
  for (let i = first; i < last; i++) {
    if (x1 && x1[i] < start) continue;
    const column = Math.min(columns - 1, Math.max(0, Math.floor((x[i] - start) * scale)));
    const held = best[column];
    if (held < 0 || (x1 && x1[i] - x[i] > x1[held] - x[held])) best[column] = i;
  }
  return Array.from(best.filter((row) => row >= 0)).sort((a, b) => a - b);
}

// Range of y over the rows of a window; null without any.
function extentOfY(layer, start, end) {
  const { x, y, y1 } = layer.all;
  if (!y) return null;
  const [first, last] = rowsIn(layer, start, end);
  const carried = layer.kind === "steps";
  let low = Infinity;
  let high = -Infinity;
  for (let i = first; i < last; i++) {
    if (x[i] > end || (x[i] < start && !carried && !layer.reach)) continue;
    if (y[i] < low) low = y[i];
    if (y[i] > high) high = y[i];
    if (y1) {
      if (y1[i] < low) low = y1[i];
      if (y1[i] > high) high = y1[i];
    }
  }
  return low <= high ? [low, high] : null;
}

// Columns of the rows that draw a window.
function columnsFor(layer, start, end, low, high, width, height) {
  const all = layer.all;
  const [first, last] = rowsIn(layer, start, end);
  let rows = null;
  if (last - first > FEW) {
    const pixels = Math.max(1, Math.round(width));
    if (layer.kind === "steps" || layer.kind === "line") {
      rows = thinCurve(all.x, all.y, first, last, start, end, pixels);
    } else if (layer.kind === "points" || layer.kind === "marks") {
      rows = thinCloud(all.x, all.y, first, last, start, end, low, high, width, height);
    } else {
      rows = thinExtents(all.x, all.x1, first, last, start, end, pixels);
    }
  }
  const found = {};
  for (const [name, column] of Object.entries(all)) {
    if (!rows) found[name] = column.slice(first, last);
    else if (name === "words") found[name] = rows.map((row) => column[row]);
    else found[name] = Float64Array.from(rows, (row) => column[row]);
  }
  return found;
}
