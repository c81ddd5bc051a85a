// The page of a capture that is still written. All words are set as text.
"use strict";

const SHOWN = 40; // intervals that are listed
const NAMES = [...document.querySelectorAll("thead th")].map((one) => one.textContent);
const byId = (id) => document.getElementById(id);
const count = (number) => number.toLocaleString("en-US");

function rate(bps) {
  if (bps === null) return "";
  for (const [unit, size] of [["Gbit/s", 1e9], ["Mbit/s", 1e6], ["kbit/s", 1e3]]) {
    if (bps >= size) return `${(bps / size).toPrecision(3)} ${unit}`;
  }
  return `${Math.round(bps)} bit/s`;
}

function span(ms) {
  if (ms === null) return "";
  return ms >= 1000 ? `${(ms / 1000).toFixed(2)} s` : `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
}

const counted = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;

function make(name, words, className) {
  const made = document.createElement(name);
  made.textContent = words;
  if (className) made.className = className;
  return made;
}

function drawn(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// Throughput by interval; a stroke below where something was lost or timed out.
function chart(history) {
  const most = Math.max(1, ...history.map((one) => one.throughput_bps ?? 0));
  const svg = drawn("svg", { viewBox: "0 0 300 100", preserveAspectRatio: "none", role: "img" });
  const left = (i) => (300 * (i + 0.5)) / Math.max(history.length, 1);
  const points = history.map((one, i) => `${left(i)} ${92 - (84 * (one.throughput_bps ?? 0)) / most}`);
  if (points.length === 1) points.unshift(`0 ${points[0].split(" ")[1]}`); // a point alone is not seen
  if (points.length) svg.append(drawn("path", { d: "M" + points.join("L") }));
  history.forEach((one, i) => {
    if (one.timeouts || one.retransmissions) svg.append(drawn("line", { x1: left(i), x2: left(i), y1: 94, y2: 100 }));
  });
  byId("chart").replaceChildren(svg);
  byId("caption").textContent =
    `Throughput of the last ${counted(history.length, "interval")}, at most ${rate(most)}; strokes below: retransmissions or timeouts.`;
}

// Intervals of which the same is said, one behind the other, are one line: the last of them, and how many.
function alike(intervals) {
  const found = [];
  for (const one of intervals) {
    const before = found.at(-1);
    if (before && before[0].text === one.text) before[1] += 1;
    else found.push([one, 1]);
  }
  return found;
}

function show({ running, history, busiest }) {
  if (!running) return;
  const now = running.interval;
  byId("cause").textContent = now.cause.text;
  byId("sofar").textContent =
    `${count(running.records)} packets in ${(running.capture_s ?? 0).toFixed(1)} s, ${rate(now.throughput_bps)} now; ` +
    `${count(now.connections)} active of ${counted(running.connections, "connection")}; ` +
    `${counted(running.retransmissions.total, "retransmission")}, ${counted(running.timeouts.total, "timeout")} so far`;
  chart(history);
  if (busiest) byId("busy").textContent = `Busiest connections, to ${busiest.capture_s.toFixed(1)} s`;
  byId("busiest").replaceChildren(
    ...(busiest?.connections ?? []).map((one) => {
      const row = document.createElement("tr");
      row.append(make("td", one.endpoints[0]), make("td", one.endpoints[1]));
      const cells = [rate(one.throughput_bps), span(one.srtt_ms), count(one.flight_bytes), count(one.bytes.sent)];
      cells.push(count(one.retransmissions.total), count(one.timeouts.total));
      row.append(...cells.map((words) => make("td", words, "number")));
      [...row.children].forEach((cell, i) => (cell.dataset.name = NAMES[i]));
      return row;
    }),
  );
  byId("intervals").replaceChildren(
    ...alike(history.slice(-SHOWN).reverse()).map(([one, number]) => {
      const many = number > 1 ? ` (${number} intervals)` : "";
      return make("li", `to ${(one.capture_s ?? 0).toFixed(1)} s: ${one.text}${many}`, one.kind);
    }),
  );
  document.documentElement.dataset.ready = "yes";
}

async function ask() {
  const again = JSON.parse(byId("settings").textContent).interval_ms;
  try {
    const answer = await fetch("state", { cache: "no-store" });
    if (!answer.ok) throw new Error(String(answer.status));
    show(await answer.json());
    document.documentElement.classList.remove("ended");
    setTimeout(ask, again);
  } catch {
    document.documentElement.classList.add("ended");
    byId("cause").textContent = "Ended: the complete summary is printed where the command ran";
    setTimeout(ask, 5 * again);
  }
}

ask();
