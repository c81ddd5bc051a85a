// A time axis with empty stretches cut out: the arithmetic and the ticks of fold.py.

const FINER = [1, 2, 4, 10, 20, 40, 100, 200, 400, 1000];
const APART = 0.6; // least distance of two ticks, in steps

class Fold {
  constructor({ start, end, shown }) {
    this.start = start;
    this.end = end;
    this.left = []; // places of both ends of each cut
    this.right = [];
    this.shown = shown;
    let saved = 0;
    for (let i = 0; i < start.length; i++) {
      this.left.push(start[i] - saved);
      saved += end[i] - start[i] - shown;
      this.right.push(end[i] - saved);
    }
  }

  // Where a time lies on the axis.
  place(time) {
    return this.across(time, this.start, this.end, this.left, this.right);
  }

  // The time that lies at a place of the axis.
  time(place) {
    return this.across(place, this.left, this.right, this.start, this.end);
  }

  across(value, begin, end, toBegin, toEnd) {
    const cut = lowerBound(begin, value) - 1; // the last cut that begins before it
    if (cut < 0) return value;
    if (value >= end[cut]) return toEnd[cut] + (value - end[cut]);
    return toBegin[cut] + ((value - begin[cut]) / (end[cut] - begin[cut])) * (toEnd[cut] - toBegin[cut]);
  }

  places(times) {
    return Float64Array.from(times, (time) => this.place(time));
  }

  // Times to label between two times: multiples of a step, at least one between two cuts where there is room.
  ticks(from, to, step, shift) {
    const cuts = this.start.map((start, i) => [start, this.end[i]]).filter(([a, b]) => b > from && a < to);
    const begins = [from, ...cuts.map(([, end]) => end)];
    const ends = [...cuts.map(([start]) => start), to];
    const found = [];
    begins.forEach((begin, i) => {
      for (const finer of FINER) {
        const fine = step / finer;
        const first = Math.ceil((begin + shift) / fine - 1e-9);
        const last = Math.floor((ends[i] + shift) / fine + 1e-9);
        if (last < first) continue;
        for (let n = first; n <= last; n++) {
          const time = n * fine - shift + 0; // no -0
          const before = found[found.length - 1];
          if (!found.length || this.place(time) - this.place(before) >= APART * step) found.push(time);
        }
        return;
      }
    });
    return found;
  }
}

// The smallest round step that divides a span into so many at most.
function roundStep(span, most) {
  const least = span / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= least * (1 - 1e-9));
}

const CLOCK_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

// Labels of the ticks: seconds, or the time of day if its zero is given (in seconds from midnight).
function tickLabels(times, midnight) {
  if (midnight === null) {
    return times.map((time) => (Math.round(time * 1e9) / 1e9).toLocaleString("en-US", { maximumFractionDigits: 9 }));
  }
  const whole = times.every((time) => Math.abs(time + midnight - Math.round(time + midnight)) < 1e-6);
  return times.map((time) => {
    const ms = Math.round((time + midnight) * 1e3);
    return new Date(ms - 864e5 * Math.floor(ms / 864e5)).toISOString().slice(11, whole ? 19 : 23);
  });
}
