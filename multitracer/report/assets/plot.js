// The interactive figure: all data on zoom, keys, colours, time of day, and going to a place.

const MARGIN = 0.05; // air above and below the data, as in print
const REACH = 14; // pixels from a click to the point that it means
const NARROW = 620; // pixels of a phone

class Plot {
  constructor(description, holder) {
    this.about = description;
    this.holder = holder;
    this.layers = description.layers;
    this.dirty = false;
    this.byHand = new Set(); // panels whose y range the user has chosen
    this.cuts = description.fold ? new Fold(description.fold) : null;
    this.folded = false;
    this.clocked = false;
    this.here = null; // the stretch that is marked
  }

  async show(theme) {
    // On its own ground from the first: no flash of white in the dark.
    const light = `"${this.about.themes.light.ground}"`;
    const item = JSON.stringify(this.about.item).replaceAll(light, `"${this.about.themes[theme].ground}"`);
    const apart = new Map();
    for (const layer of this.layers) {
      if (layer.apart) apart.set(layer.id, await this.packed(layer, (id) => apart.get(id).x));
    }
    this.embedded = await Bokeh.embed.embed_item(JSON.parse(item));
    const document_ = Bokeh.documents[Bokeh.documents.length - 1];
    this.x = document_.get_model_by_name("time");
    this.strip = document_.get_model_by_name("overview");
    this.panels = this.about.panels.map((panel) => ({
      ...panel,
      plot: document_.get_model_by_name("panel:" + panel.name),
    }));
    for (const layer of this.layers) {
      layer.renderers = this.panels.flatMap((p) => p.plot.renderers.filter((r) => r.name === layer.id));
      layer.words_ = this.panels.flatMap((p) => p.plot.renderers.filter((r) => r.name === "text:" + layer.id));
      layer.in = layer.renderers.map((r) => this.panels.find((p) => p.plot.renderers.includes(r)));
      layer.visible = true;
      layer.all = apart.get(layer.id) ?? { ...layer.renderers[0].data_source.data };
      delete layer.all.index;
      this.place(layer);
      if (layer.apart) {
        layer.complete = layer.exact = true;
        this.overview(layer);
      } else {
        for (const renderer of layer.renderers) renderer.data_source.data = { ...layer.all };
      }
    }
    this.x.change.connect(() => this.later());
    for (const panel of this.panels) {
      panel.plot.y_range.change.connect(() => {
        if (!this.ours) this.byHand.add(panel.name);
      });
      panel.plot.on_event("reset", () => this.home());
      panel.plot.on_event("tap", (event) => this.tapped(panel, event));
    }
    for (const { plot } of this.panels) {
      // A finger that moves up or down scrolls the page; sideways it moves the figure.
      const canvas = Bokeh.index.find_one(plot).canvas_view;
      for (const layer of canvas.shadow_el.querySelectorAll(".bk-events")) layer.style.touchAction = "pan-y";
    }
    this.narrow();
    this.left = new AbortController();
    const resized = () => {
      this.narrow();
      this.later();
    };
    window.addEventListener("resize", resized, { signal: this.left.signal });
    this.refresh();
  }

  // Give the place up to another figure.
  close() {
    this.gone = true;
    this.left.abort();
    this.embedded.clear();
    Bokeh.documents.splice(0);
  }

  // Bring the rest of the large layers, one at a time, so that the page answers between them.
  async complete() {
    for (const layer of this.layers) {
      if (layer.complete) continue;
      const all = await this.packed(layer, (id) => this.layers.find((one) => one.id === id).all.t);
      if (this.gone) return;
      layer.all = all;
      layer.complete = true;
      layer.exact = true;
      this.place(layer);
      await new Promise((resolve) => setTimeout(resolve));
    }
    this.refresh();
    document.documentElement.dataset.data = "complete";
  }

  packed(layer, times) {
    return unpack(JSON.parse(document.getElementById(`data-${this.about.key}-${layer.id}`).textContent), times);
  }

  // A layer's rows in the strip of all the time.
  overview(layer) {
    const { x_range: x, y_range: y, height } = this.strip;
    for (const dots of this.strip.renderers.filter((r) => r.name === layer.id)) {
      const width = Math.max(200, this.holder.clientWidth - 100);
      const found = columnsFor(layer, x.start, x.end, y.start, y.end, width, height);
      dots.data_source.data = { x: found.x, y: found.y };
    }
  }

  // The point that a click meant: of what has a record, the nearest within reach of a finger.
  tapped(panel, event) {
    const plot = panel.plot;
    const view = Bokeh.index.find_one(plot);
    const { x_scale: across, y_scale: up } = view.frame;
    let best = null;
    let least = REACH ** 2;
    for (const layer of this.layers) {
      if (!layer.visible || !layer.in.includes(panel) || !layer.all.record || !layer.all.y) continue;
      const { x, y } = layer.all;
      const reach = Math.abs(across.invert(event.sx + REACH) - across.invert(event.sx));
      const at = across.invert(event.sx);
      for (let i = lowerBound(x, at - reach); i < x.length && x[i] <= at + reach; i++) {
        const away = (across.compute(x[i]) - event.sx) ** 2 + (up.compute(y[i]) - event.sy) ** 2;
        if (away < least) [least, best] = [away, { layer, row: i }];
      }
    }
    const detail = best && { ...best, time: (best.layer.all.t ?? best.layer.all.x)[best.row] };
    document.dispatchEvent(new CustomEvent("point", { detail }));
  }

  // Columns x and x1 where they lie on the axis; t and t1 keep the true times.
  place(layer) {
    const all = layer.all;
    all.t ??= all.x;
    if (all.x1 !== undefined) all.t1 ??= all.x1;
    all.x = this.folded ? this.cuts.places(all.t) : all.t;
    if (all.t1 !== undefined) all.x1 = this.folded ? this.cuts.places(all.t1) : all.t1;
  }

  at(time) {
    return this.folded ? this.cuts.place(time) : time;
  }

  time(place) {
    return this.folded ? this.cuts.time(place) : place;
  }

  // Cut the empty stretches out of the axis, or put them back; the window stays at the same times.
  fold(on) {
    const window = [this.time(this.x.start), this.time(this.x.end)];
    this.folded = on;
    for (const layer of this.layers) {
      this.place(layer);
      if (!layer.exact) for (const renderer of layer.renderers) renderer.data_source.data = { ...layer.all };
      const placed = (renderer) => {
        const data = renderer.data_source.data;
        data.t ??= data.x;
        renderer.data_source.data = { ...data, x: on ? this.cuts.places(data.t) : data.t };
      };
      layer.words_.forEach(placed);
      this.strip.renderers.filter((r) => r.name === layer.id).forEach(placed);
    }
    for (const { plot } of this.panels) {
      for (const cut of plot.renderers.filter((r) => r.name === "cuts" || r.name === "cut-words")) cut.visible = on;
    }
    const low = this.at(this.about.whole[0]);
    const high = this.at(this.about.whole[1]);
    const air = 0.5 * (window[1] - window[0]);
    this.strip.x_range.setv({ start: low, end: high });
    this.x.setv({ bounds: [low - air, high + air] });
    this.x.setv({ start: this.at(window[0]), end: this.at(window[1]) });
    this.mark(this.here);
    this.axes();
    this.later();
  }

  // Which of the time axes is seen, and whose ticks the grid follows.
  axes() {
    const below = this.panels[this.panels.length - 1].plot.below;
    const wanted = this.folded ? "folded" : this.clocked ? "clock" : "plain";
    const named = (axis) => (axis.name === "clock" || axis.name === "folded" ? axis.name : "plain");
    for (const axis of below) axis.visible = named(axis) === wanted;
    const folded = below.find((axis) => axis.name === "folded");
    if (!folded) return;
    folded.axis_label = below.find((axis) => named(axis) === (this.clocked ? "clock" : "plain")).axis_label;
    for (const { plot } of this.panels) {
      for (const grid of plot.center.filter((one) => one.type === "Grid" && one.dimension === 0)) {
        grid.ticker = this.folded ? folded.ticker : null;
      }
    }
    this.later();
  }

  // True times at the ticks of a folded axis, and the lengths of the cuts in the middle of their panel.
  ticks(start, end, width) {
    const axis = this.panels[this.panels.length - 1].plot.below.find((one) => one.name === "folded");
    const midnight = this.clocked ? (this.about.clock_ms % 864e5) / 1e3 : null;
    let step = roundStep(end - start, Math.max(2, Math.floor(width / (this.clocked ? 110 : 80))));
    if (this.clocked && step >= 1) step = CLOCK_STEPS.find((one) => one >= step) || step;
    const times = this.cuts.ticks(this.time(start), this.time(end), step, midnight || 0);
    const places = times.map((time) => this.cuts.place(time));
    const labels = tickLabels(times, midnight);
    axis.major_label_overrides = new Map(places.map((place, i) => [place, labels[i]]));
    axis.ticker.ticks = places;
    const room = (this.cuts.shown / (end - start)) * width >= 12;
    for (const { plot } of this.panels) {
      for (const words of plot.renderers.filter((r) => r.name === "cut-words")) {
        const data = words.data_source.data;
        const middle = (plot.y_range.start + plot.y_range.end) / 2;
        words.data_source.data = { ...data, y: Float64Array.from(data.x, () => middle) };
        words.visible = room;
      }
    }
  }

  later() {
    if (this.dirty) return;
    this.dirty = true;
    requestAnimationFrame(() => {
      this.dirty = false;
      this.refresh();
    });
  }

  refresh() {
    const start = this.x.start;
    const end = this.x.end;
    if (!(end > start)) return;
    const width = Math.max(200, this.holder.clientWidth - 100);
    this.ours = true;
    for (const panel of this.panels) {
      if (!panel.lanes && !this.byHand.has(panel.name)) this.fit(panel, start, end);
    }
    this.ours = false;
    for (const layer of this.layers) {
      if (!layer.exact || !layer.visible) continue;
      layer.renderers.forEach((renderer, number) => {
        const y = layer.in[number].plot.y_range;
        const height = layer.in[number].plot.height;
        renderer.data_source.data = columnsFor(layer, start, end, y.start, y.end, width, height);
      });
    }
    this.label(start, end, width);
    if (this.folded) this.ticks(start, end, width);
    const extra = this.panels[this.panels.length - 1].plot.extra_x_ranges;
    const clock = extra instanceof Map ? extra.get("clock") : extra.clock;
    if (clock) clock.setv({ start: this.about.clock_ms + 1e3 * start, end: this.about.clock_ms + 1e3 * end });
    document.dispatchEvent(new CustomEvent("window", { detail: { start: this.time(start), end: this.time(end) } }));
  }

  fit(panel, start, end) {
    let low = Infinity;
    let high = -Infinity;
    for (const layer of this.layers) {
      if (layer.panel !== panel.name || !layer.in_limits || !layer.visible) continue;
      const found = extentOfY(layer, start, end);
      if (!found) continue;
      low = Math.min(low, found[0]);
      high = Math.max(high, found[1]);
    }
    if (!(low <= high)) return;
    if (panel.zero) low = Math.min(low, 0);
    if (high <= low) high = low + Math.max(1, Math.abs(low) * 1e-3);
    const margin = MARGIN * (high - low);
    const bottom = panel.zero && low === 0 ? 0 : low - margin;
    panel.plot.y_range.setv({ start: bottom, end: high + margin });
  }

  // Words beside marks, where there is room: none lies on another.
  label(start, end, width) {
    const taken = new Map();
    for (const layer of this.layers) {
      for (const renderer of layer.words_) {
        const panel = this.panels.find((p) => p.plot.renderers.includes(renderer));
        const boxes = taken.get(panel) || taken.set(panel, []).get(panel);
        const y = panel.plot.y_range;
        const tall = panel.plot.height - 20;
        const old = renderer.data_source.data;
        const line = layer.kind === "lines";
        const text = [];
        const align = [...old.align];
        const dx = [...old.dx];
        const places = line ? new Float64Array(old.x.length) : old.y;
        for (let i = 0; i < old.x.length; i++) {
          const left = ((old.x[i] - start) / (end - start)) * width;
          const wide = 6.6 * old.all[i].length;
          const before = line && left + wide > width; // no room behind the line
          let words = "";
          if (line) [align[i], dx[i]] = before ? ["right", -5] : ["left", 5];
          if (left >= 0 && left <= width && layer.visible) {
            for (let row = 0; row < (line ? 4 : 1) && !words; row++) {
              const top = line ? 14 * row : ((y.end - places[i]) / (y.end - y.start)) * tall - 18;
              const from = before ? left - wide : line ? left : left - wide / 2;
              const box = [from, top, from + wide, top + 13];
              if (line && (box[0] < 0 || box[2] > width)) continue;
              if (boxes.some((b) => box[0] < b[2] && b[0] < box[2] && box[1] < b[3] && b[1] < box[3])) continue;
              boxes.push(box);
              words = old.all[i];
              if (line) places[i] = y.end - (top / tall) * (y.end - y.start);
            }
          }
          if (line && !words) places[i] = y.end;
          text.push(words);
        }
        renderer.data_source.data = { ...old, y: places, text, align, dx };
        renderer.visible = true;
      }
    }
  }

  move(start, end) {
    const least = this.at(this.about.whole[0]);
    const most = this.at(this.about.whole[1]);
    const width = Math.min(Math.max(end - start, 1e-6), most - least);
    const from = Math.min(Math.max(start, least), most - width);
    this.x.setv({ start: from, end: from + width });
  }

  pan(share) {
    const width = this.x.end - this.x.start;
    this.move(this.x.start + share * width, this.x.end + share * width);
  }

  zoom(factor) {
    const middle = (this.x.start + this.x.end) / 2;
    const half = ((this.x.end - this.x.start) * factor) / 2;
    this.move(middle - half, middle + half);
  }

  home() {
    this.byHand.clear();
    this.mark(null);
    this.x.setv({ start: this.at(this.about.window[0]), end: this.at(this.about.window[1]) });
    this.later();
  }

  // Show a stretch of time with some air around it, and mark it.
  go(from, to) {
    const start = this.at(from);
    const end = this.at(to);
    const air = Math.max((end - start) * 0.3, (this.about.whole[1] - this.about.whole[0]) * 2e-3, 1e-3);
    this.byHand.clear();
    this.mark([from, to]);
    this.move(start - air, end + air);
    this.later();
  }

  mark(stretch) {
    this.here = stretch;
    for (const { plot } of this.panels) {
      for (const box of plot.center.filter((one) => one.name === "stretch")) {
        if (stretch) box.setv({ left: this.at(stretch[0]), right: this.at(stretch[1]), visible: true });
        else box.visible = false;
      }
    }
  }

  toggle(id, visible) {
    const layer = this.layers.find((one) => one.id === id);
    layer.visible = visible;
    for (const renderer of [...layer.renderers, ...layer.words_]) renderer.visible = visible;
    for (const dots of this.strip.renderers.filter((r) => r.name === id)) dots.visible = visible;
    this.later();
  }

  clock(on) {
    this.clocked = on;
    this.axes();
  }

  // A phone has no room for the names of the axes.
  narrow() {
    const small = this.holder.clientWidth < NARROW;
    for (const plot of [...this.panels.map((p) => p.plot), this.strip]) plot.min_border_left = small ? 66 : 96;
    for (const panel of this.panels) {
      for (const axis of panel.plot.left) {
        axis.axis_label_text_font_size = small ? "0px" : "13px";
        axis.axis_label_standoff = small ? 0 : 5;
        axis.major_label_text_font_size = small ? "9px" : "11px";
      }
    }
  }

  dress(name) {
    const theme = this.about.themes[name];
    for (const { plot } of [...this.panels, { plot: this.strip }]) {
      plot.setv({ background_fill_color: theme.ground });
      for (const axis of [...plot.below, ...plot.left]) {
        axis.setv({
          axis_label_text_color: theme.ink,
          major_label_text_color: theme.ink,
          axis_line_color: theme.faint,
          major_tick_line_color: theme.faint,
        });
      }
      for (const grid of plot.center.filter((one) => one.type === "Grid")) grid.grid_line_color = theme.grid;
      for (const cut of plot.renderers.filter((r) => r.name === "cuts")) {
        cut.glyph.setv({ fill_color: theme.ground, line_color: theme.faint, hatch_color: theme.faint });
      }
      for (const words of plot.renderers.filter((r) => r.name === "cut-words")) {
        words.glyph.setv({ text_color: theme.ink, background_fill_color: theme.ground });
      }
    }
    for (const layer of this.layers) {
      const color = theme.colors[layer.role];
      for (const renderer of layer.renderers) this.paint(renderer.glyph, color);
      for (const renderer of layer.words_) renderer.glyph.text_color = color;
      for (const dots of this.strip.renderers.filter((r) => r.name === layer.id)) this.paint(dots.glyph, color);
    }
  }

  // What is not drawn (null) stays so.
  paint(glyph, color) {
    for (const property of ["fill_color", "line_color"]) {
      const now = glyph[property];
      if (now && now.value !== null && now !== null) glyph[property] = { value: color };
    }
  }
}
