// What page_pack.py packed: columns of a layer out of deflated differences.
"use strict";

async function inflate(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The times of two layers together, ascending.
function merged(one, other) {
  const all = new Float64Array(one.length + other.length);
  let i = 0;
  let j = 0;
  for (let at = 0; at < all.length; at++) {
    all[at] = j >= other.length || (i < one.length && one[i] <= other[j]) ? one[i++] : other[j++];
  }
  return all;
}

// A float64 array per column; four planes of bytes hold the differences of whole numbers. `times` gives those of
// a layer that was unpacked before.
async function unpack(packed, times) {
  const bytes = await inflate(packed.data);
  const rows = packed.rows;
  const found = {};
  let at = 0;
  for (const head of packed.columns) {
    if (head.kind === "times") {
      const parts = head.of.map(times);
      found[head.name] = parts.length > 1 ? merged(...parts) : parts[0];
      continue;
    }
    const column = new Float64Array(rows);
    if (head.kind === "float") {
      const view = new DataView(bytes.buffer, bytes.byteOffset + at, 8 * rows);
      for (let i = 0; i < rows; i++) column[i] = view.getFloat64(8 * i, true);
      at += 8 * rows;
    } else {
      const p0 = bytes.subarray(at, at + rows);
      const p1 = bytes.subarray(at + rows, at + 2 * rows);
      const p2 = bytes.subarray(at + 2 * rows, at + 3 * rows);
      const p3 = bytes.subarray(at + 3 * rows, at + 4 * rows);
      let value = head.base;
      for (let i = 0; i < rows; i++) {
        value += p0[i] | (p1[i] << 8) | (p2[i] << 16) | (p3[i] << 24);
        column[i] = value / head.scale;
      }
      at += 4 * rows;
    }
    found[head.name] = column;
  }
  if (packed.words) found.words = JSON.parse(new TextDecoder().decode(await inflate(packed.words)));
  return found;
}
