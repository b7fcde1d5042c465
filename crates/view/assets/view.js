// Shows a model (crates/view/src/model.rs): lanes of CPUs on one time axis, base above test, energy and utilization below (above where
// there are many lanes), and each placement with its candidates. No library, no request.
//
//   const view = FairgroundView.mount(element, bytes)    bytes: ArrayBuffer or Uint8Array of Model::to_bytes
//   view.show(from, to)        the part of the time axis, ns since the first event
//   view.select(side, number)  a decision
//   view.search(text)          threads by name, pid or name-pid
//   view.state()               what is shown, for tests
//   view.destroy()
//
// Drawing is by level of detail: columns are typed arrays; the rows that are visible are found by binary search, and what is narrower
// than a pixel is merged into one bar as high as the share of the pixel that it fills, which a sum over the rows before gives without
// reading them. So a frame costs by its pixels and not by the events.
"use strict";
const FairgroundView = (() => {
  const {
    HUES, BINS, above, addSpan, cpuAt, doing, duration, fittingHeight, leftInWords, LANE_HEIGHTS, megahertz, notBelow, notBelowNear, otherAnswer, possibleOf, prepare, range,
    read, rowsOf, seconds, spanAt, stepText, sums, threadName,
  } = FairgroundModel;
  const KINDS = ["woken", "forked", "exec", "moved by load balancing", "pulled by newidle balancing", "pushed by active balancing"];
  const AXIS = 24;

  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else if (value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  // ---- the view -----------------------------------------------------------------------------------------------------

  function mount(element, input) {
    const began = performance.now();
    const model = prepare(read(input));
    const readMs = performance.now() - began;
    const axisFrom = model.from_ns, axisTo = Math.max(model.to_ns, axisFrom + 1), span = axisTo - axisFrom;
    const view = { from: axisFrom, to: axisTo, cursor: null, selected: null, marked: null, query: "", frames: [], dirty: false };
    const shape = { height: fittingHeight(model), paired: false, used: false };
    let colours = {}, rows = [], width = 0, height = 0, gutter = 0, context = null;
    const ends = [];

    const search = make("input", { type: "search", placeholder: "task: name or pid", "aria-label": "Search tasks by name or pid", spellcheck: "false" });
    const found = make("ul", { class: "fg-found", "aria-label": "Tasks found" });
    const readout = make("output", { class: "fg-readout" });
    const panel = make("section", { class: "fg-panel", "aria-label": "Details", "aria-live": "polite", tabindex: "-1" });
    const canvas = make("canvas", { "aria-hidden": "true" });
    const space = make("div", { class: "fg-space" }, canvas);
    const scroll = make("div", {
      class: "fg-scroll", tabindex: "0", role: "application",
      "aria-label": "Lanes of CPUs over time. Arrow keys move, plus and minus zoom, n and p go to the next and the previous placement, x to the next that the other scheduler decides otherwise, Enter to its details.",
    }, space);
    const button = (text, label, does) => make("button", { type: "button", "aria-label": label, title: label, onclick: does }, text);
    const bar = make("div", { class: "fg-bar", role: "toolbar", "aria-label": "Time axis" },
      search,
      button("−", "Zoom out (-)", () => zoom(2)), button("+", "Zoom in (+)", () => zoom(0.5)), button("all", "Show all (0)", () => show(axisFrom, axisTo)),
      button("‹", "Previous placement (p)", () => step(-1)), button("›", "Next placement (n)", () => step(1)),
      button("≠", "Next placement that the other scheduler decides otherwise (x)", () => step(1, true)),
      button("↕", "Height of lanes ([ and ])", () => reshape({ height: (shape.height + 1) % LANE_HEIGHTS.length })),
      button("used", "Only CPUs on which something happens (u)", () => reshape({ used: !shape.used })),
      model.sides.length > 1 ? button("pairs", "Both sides of a CPU below each other (c)", () => reshape({ paired: !shape.paired })) : null,
      button("?", "Keys", help));
    const root = make("div", { class: "fg-view" }, facts(), bar, found, make("div", { class: "fg-body" }, make("div", { class: "fg-main" }, scroll, readout), panel));
    element.replaceChildren(root);

    // ---- what is drawn ----

    function layout() {
      const all = rowsOf(model, AXIS, shape);
      rows = all.rows;
      space.style.height = `${all.height}px`;
      scroll.style.setProperty("--fg-height", `${all.height}px`);
    }

    function reshape(change) {
      Object.assign(shape, change);
      shape.height = Math.min(Math.max(shape.height, 0), LANE_HEIGHTS.length - 1);
      layout();
      if (view.selected) reveal(view.selected.side, view.selected.decision);
      resize();
    }

    function resize() {
      width = scroll.clientWidth;
      height = scroll.clientHeight;
      gutter = width < 560 ? 64 : 156;
      const ratio = window.devicePixelRatio || 1;
      canvas.width = Math.max(1, Math.round(width * ratio));
      canvas.height = Math.max(1, Math.round(height * ratio));
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
      context = canvas.getContext("2d", { alpha: false });
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      draw();
    }

    function readColours() {
      const style = getComputedStyle(root);
      const named = (name) => style.getPropertyValue(`--fg-${name}`).trim();
      for (const name of ["paper", "ink", "soft", "rule", "band", "base", "test", "idle", "clock", "differs", "mark"]) colours[name] = named(name);
      colours.tasks = Array.from({ length: HUES }, (_, hue) => `hsl(${(hue * 360) / HUES} ${named("saturation")} ${named("lightness")})`);
      colours.dim = named("dim");
      colours.onTask = named("on-task");
      redraw();
    }

    function redraw() {
      if (view.dirty) return;
      view.dirty = true;
      requestAnimationFrame(() => { view.dirty = false; draw(); });
    }

    const scale = () => (width - gutter) / (view.to - view.from);
    const xOf = (time) => gutter + (time - view.from) * scale();
    const timeOf = (x) => view.from + (x - gutter) / scale();

    function draw() {
      if (!context || width <= gutter) return;
      const began = performance.now();
      const top = scroll.scrollTop, c = context;
      c.fillStyle = colours.paper;
      c.fillRect(0, 0, width, height);
      c.font = "11px system-ui, sans-serif";
      c.textBaseline = "middle";
      const batch = Array.from({ length: HUES + 1 }, () => []);
      for (const row of rows) {
        const y = row.y - top;
        if (y + row.h < AXIS || y > height) continue;
        if (row.type === "head") head(row.side, y, row.h);
        else if (row.type === "cpu") cpu(row, y, batch);
        else plot(row, y);
      }
      // A label may be higher than its lane.
      let free = AXIS;
      for (const row of rows) {
        const y = row.y - top;
        if (y + row.h < AXIS || y > height || (row.type === "cpu" && row.h < 14 && y + row.h / 2 - 6 < free)) continue;
        if (row.type === "cpu") label(row, y);
        free = row.type === "cpu" ? y + row.h / 2 + 6 : y + row.h;
      }
      axis();
      drawSelected(top);
      if (view.cursor !== null && view.cursor.x > gutter) {
        c.fillStyle = colours.soft;
        c.fillRect(Math.round(view.cursor.x), AXIS, 1, height);
      }
      view.frames.push(performance.now() - began);
      if (view.frames.length > 1000) view.frames.shift();
    }

    function head(side, y, h) {
      context.fillStyle = colours.band;
      context.fillRect(0, y, width, h);
      context.fillStyle = side.number ? colours.test : colours.base;
      context.fillRect(0, y, 4, h);
      context.fillStyle = colours.ink;
      text(`${side.name}  ${side.label}`, 10, y + h / 2, width - 20);
    }

    function text(words, x, y, most) {
      if (most < 8) return;
      const c = context;
      let size = c.measureText(words).width;
      while (size > most && words.length > 1) {
        words = words.slice(0, Math.max(1, Math.floor((words.length * most) / size) - 1));
        size = c.measureText(words + "…").width;
        if (size <= most) { words += "…"; break; }
      }
      if (size <= most) c.fillText(words, x, y);
    }

    // Calls one(i, x, width) for spans of a pixel or more, merged(x, share, i) for pixels of narrower ones.
    function spans(table, sum, lo, hi, one, merged) {
      const perNs = scale(), { begin, length } = table;
      let i = above(begin, lo, hi, view.from);
      if (i > lo && begin[i - 1] + length[i - 1] > view.from) i--;
      while (i < hi && begin[i] < view.to) {
        const size = length[i] * perNs, x = gutter + (begin[i] - view.from) * perNs;
        if (size >= 1) { one(i, x, size); i++; continue; }
        const pixel = Math.floor(x), end = view.from + (pixel + 1 - gutter) / perNs;
        let next = notBelowNear(begin, i + 1, hi, end);
        if (next - 1 > i && length[next - 1] * perNs >= 1) next--;
        merged(pixel, Math.min(1, (sum[next] - sum[i]) * perNs), i, next);
        i = next;
      }
    }

    function cpu(row, y, batch) {
      const { side, lane } = row, c = context, { runs, idles, clocks } = side.tables;
      const h = row.h, low = h < 14, band = low ? h - 2 : Math.round(h * 0.55), top = y + (low ? 1 : 3);
      if (!low) {
        c.fillStyle = colours.rule;
        c.fillRect(0, y + h - 1, width, 1);
      }
      // Frequency: an area behind all.
      const known = side.cpus[lane], first = clocks.first[lane], last = clocks.first[lane + 1];
      if (first < last) {
        if (!row.most) row.most = known.max_khz || range(clocks.khz, side.blocks, first, last)[1] || 1;
        c.fillStyle = colours.clock;
        let i = Math.max(first, above(clocks.time, first, last, view.from) - 1);
        for (let x = gutter; i < last && x < width;) {
          const at = Math.max(gutter, xOf(clocks.time[i]));
          if (at >= width) break;
          const pixelEnd = timeOf(Math.floor(at) + 1);
          let next = notBelowNear(clocks.time, i + 1, last, pixelEnd);
          const high = next === i + 1 ? clocks.khz[i] : range(clocks.khz, side.blocks, i, next)[1];
          const end = next < last ? Math.max(xOf(clocks.time[next]), Math.floor(at) + 1) : width;
          const level = Math.min(1, high / row.most) * (h - 4);
          c.fillRect(at, y + h - 1 - level, Math.min(end, width) - at, level);
          x = end;
          i = next;
        }
      }
      // Idle states: a thin strip below, deeper is stronger.
      const strip = low ? 1 : Math.max(2, Math.round(h * 0.12));
      c.fillStyle = colours.idle;
      const depth = Math.max(1, known.idle_states.length - 1);
      spans(idles, side.idleSum, idles.first[lane], idles.first[lane + 1],
        (i, x, size) => { c.globalAlpha = 0.35 + 0.65 * Math.min(1, idles.state[i] / depth); c.fillRect(x, y + h - 2 - strip, size, strip); },
        (x, share) => { c.globalAlpha = 0.6; c.fillRect(x, y + h - 2 - strip * share, 1, strip * share); });
      c.globalAlpha = 1;
      // What runs.
      const labels = [];
      const put = (hue, x, size, high) => batch[hue].push(x, top + band - high, size, high);
      const dim = view.marked !== null, mine = dim ? view.marked[side.number] : null;
      spans(runs, side.runSum, runs.first[lane], runs.first[lane + 1],
        (i, x, size) => {
          const hue = dim && !mine.flags[runs.thread[i]] ? HUES : side.hue[runs.thread[i]];
          put(hue, x, size, band);
          if (size > 34 && !low) labels.push(runs.thread[i], Math.max(x, gutter), Math.min(x + size, width), hue);
        },
        (x, share, i, next) => {
          let longest = i;
          for (let k = i + 1; k < Math.min(next, i + 8); k++) if (runs.length[k] > runs.length[longest]) longest = k;
          put(dim ? HUES : side.hue[runs.thread[longest]], x, 1, Math.max(1, share * band));
        });
      if (dim) {
        const own = mine.lanes[lane];
        spans(own, own.sum, 0, own.begin.length, () => {}, (x, share, i) => put(side.hue[own.thread[i]], x, 1, Math.max(2, share * band)));
      }
      batch.forEach((rects, hue) => {
        if (!rects.length) return;
        c.fillStyle = hue === HUES ? colours.dim : colours.tasks[hue];
        for (let i = 0; i < rects.length; i += 4) c.fillRect(rects[i], rects[i + 1], rects[i + 2], rects[i + 3]);
        rects.length = 0;
      });
      for (let i = 0; i < labels.length; i += 4) {
        c.fillStyle = labels[i + 3] === HUES ? colours.ink : colours.onTask;
        text(side.threads[labels[i]].name, labels[i + 1] + 3, top + band / 2, labels[i + 2] - labels[i + 1] - 6);
      }
      marks(side, lane, y, h);
      c.fillStyle = colours.paper;
      c.fillRect(0, y, gutter, h - (low ? 0 : 1));
      c.fillStyle = side.number ? colours.test : colours.base;
      c.fillRect(0, y, 3, h - (low ? 0 : 1));
    }

    // Placements onto a CPU: a mark each, or one for all of a pixel.
    function marks(side, lane, y, h) {
      const c = context, lo = side.byLane.first[lane], hi = side.byLane.first[lane + 1], times = side.laneTime;
      let i = notBelow(times, lo, hi, view.from);
      const size = h > 24 ? 4 : h < 14 ? 2 : 3;
      while (i < hi && times[i] <= view.to) {
        const x = xOf(times[i]), next = notBelowNear(times, i + 1, hi, timeOf(Math.floor(x) + 1));
        const differs = side.laneDiffering[next] > side.laneDiffering[i];
        c.fillStyle = differs ? colours.differs : colours.mark;
        c.fillRect(Math.floor(x), y + 1, differs ? 2 : 1, size);
        i = next;
      }
    }

    function label(row, y) {
      const { side, lane } = row, c = context, known = side.cpus[lane];
      c.fillStyle = colours.ink;
      const two = row.h > 28, narrow = gutter < 100;
      text(`CPU ${known.cpu}`, 8, y + (two ? 10 : row.h / 2), gutter - 12);
      if (view.cursor === null) {
        if (narrow || known.kind === null) return;
        c.fillStyle = colours.soft;
        const kind = `${known.kind}, ${known.capacity}`;
        if (two) text(kind, 8, y + 24, gutter - 12); else text(kind, 56, y + row.h / 2, gutter - 60);
        return;
      }
      const now = cpuAt(side, lane, view.cursor.time);
      const clock = now.khz === null ? "" : megahertz(now.khz);
      const state = now.idle !== null ? now.idle : now.left !== null ? `${now.left} left` : "";
      c.fillStyle = colours.soft;
      if (narrow) { if (two) text(clock || state, 8, y + 24, gutter - 10); return; }
      text(clock, 56, y + (two ? 10 : row.h / 2), gutter - 60);
      if (two) text([now.idle, leftInWords(known, now)].filter(Boolean).join(", "), 8, y + 24, gutter - 12);
    }

    function axis() {
      const c = context;
      c.fillStyle = colours.paper;
      c.fillRect(0, 0, width, AXIS);
      c.fillStyle = colours.rule;
      c.fillRect(0, AXIS - 1, width, 1);
      const least = ((view.to - view.from) / Math.max(1, (width - gutter) / 110));
      let size = 1;
      while (size * 10 < least) size *= 10;
      const tick = [1, 2, 5, 10].map((n) => n * size).find((n) => n >= least) || size * 10;
      const unit = tick >= 1e9 ? ["s", 1e9] : tick >= 1e6 ? ["ms", 1e6] : tick >= 1e3 ? ["µs", 1e3] : ["ns", 1];
      c.fillStyle = colours.soft;
      for (let time = Math.ceil(view.from / tick) * tick; time <= view.to; time += tick) {
        const x = xOf(time);
        c.fillRect(Math.round(x), AXIS - 6, 1, 6);
        if (x < width - 40) c.fillText(`${Number((time / unit[1]).toFixed(3))} ${unit[0]}`, x + 3, AXIS / 2 - 1);
      }
      const topmost = rowAtY(AXIS), side = model.sides.length > 1 && topmost && topmost.side;
      text(`${side && !shape.paired ? `${side.name}, ` : ""}${duration(view.to - view.from)}`, 8, AXIS / 2 - 1, gutter - 10);
    }

    // ---- plots ----

    // Mean number of busy CPUs in each pixel.
    function busy(side, cells) {
      const { runs } = side.tables, perPixel = (view.to - view.from) / cells.length;
      let visible = 0;
      const parts = side.cpus.map((_, lane) => {
        const lo = runs.first[lane], hi = runs.first[lane + 1];
        const from = Math.max(lo, above(runs.begin, lo, hi, view.from) - 1), to = notBelow(runs.begin, lo, hi, view.to);
        visible += Math.max(0, to - from);
        return [from, to];
      });
      if (visible <= 40000) {
        for (const [from, to] of parts) {
          for (let i = from; i < to; i++) {
            const a = (runs.begin[i] - view.from) / perPixel;
            addSpan(cells, a, a + runs.length[i] / perPixel, 1);
          }
        }
        return;
      }
      const { width: bin, sum } = side.bins;
      const before = (time) => {
        const at = Math.min(Math.max((time - axisFrom) / bin, 0), BINS), b = Math.min(Math.floor(at), BINS - 1);
        return sum[b] + (sum[b + 1] - sum[b]) * (at - b);
      };
      for (let x = 0; x < cells.length; x++) cells[x] = (before(view.from + (x + 1) * perPixel) - before(view.from + x * perPixel)) / perPixel;
    }

    // Mean power in each pixel, mW; NaN where it is not known.
    function powers(side, cells) {
      const { power } = side.tables, perPixel = (view.to - view.from) / cells.length;
      if (!power.rows) return cells.fill(NaN);
      for (let rail = 0; rail + 1 < power.first.length; rail++) {
        const lo = power.first[rail], hi = power.first[rail + 1];
        const before = (time) => {
          const i = above(power.begin, lo, hi, time);
          if (i === lo) return side.powerSum[lo];
          return side.powerSum[i - 1] + power.pj[i - 1] * Math.min(1, (time - power.begin[i - 1]) / power.length[i - 1]);
        };
        const from = power.begin[lo], to = power.begin[hi - 1] + power.length[hi - 1];
        for (let x = 0; x < cells.length; x++) {
          const a = Math.max(from, view.from + x * perPixel), b = Math.min(to, view.from + (x + 1) * perPixel);
          cells[x] = b > a ? cells[x] + (before(b) - before(a)) / (b - a) : NaN;
        }
      }
    }

    // Utilization of all CPUs at each pixel; NaN where it is not known.
    function utils(side, cells) {
      const { utils: table } = side.tables, perPixel = (view.to - view.from) / cells.length;
      if (!table.rows) return cells.fill(NaN);
      for (let lane = 0; lane < side.cpus.length; lane++) {
        let i = table.first[lane];
        const hi = table.first[lane + 1];
        for (let x = 0; x < cells.length; x++) {
          i = notBelowNear(table.time, i, hi, view.from + (x + 1) * perPixel);
          if (i > table.first[lane]) cells[x] += table.util[i - 1];
        }
      }
    }

    const PLOTS = {
      power: [["power", "power"], "mW", powers, 0], busy: [["busy CPUs", "busy"], "", busy, 2], util: [["utilization", "util"], "", utils, 0],
    };

    function plot(row, y) {
      const [names, unit, fill, digits] = PLOTS[row.type], c = context, narrow = gutter < 100, size = Math.max(1, Math.floor(width - gutter)), h = row.h - 8;
      const series = model.sides.map((side) => { const cells = new Float64Array(size); fill(side, cells); return cells; });
      let most = 0;
      for (const cells of series) for (const value of cells) if (value > most) most = value;
      row.series = series;
      c.fillStyle = colours.rule;
      c.fillRect(0, y + row.h - 1, width, 1);
      series.forEach((cells, number) => {
        c.strokeStyle = number ? colours.test : colours.base;
        c.setLineDash(number ? [4, 2] : []);
        c.lineWidth = 1.25;
        c.beginPath();
        let pen = false;
        for (let x = 0; x < size; x++) {
          if (Number.isNaN(cells[x])) { pen = false; continue; }
          const at = y + row.h - 2 - (most ? (cells[x] / most) * h : 0);
          if (pen) c.lineTo(gutter + x + 0.5, at); else c.moveTo(gutter + x + 0.5, at);
          pen = true;
        }
        c.stroke();
      });
      c.setLineDash([]);
      c.fillStyle = colours.ink;
      text(names[Number(narrow)], 8, y + 12, gutter - 10);
      c.fillStyle = colours.soft;
      text(`${narrow ? "" : "up to "}${most.toFixed(digits)} ${unit}`, 8, y + 27, gutter - 10);
      if (view.cursor === null) return;
      series.forEach((cells, number) => {
        const value = cells[Math.min(size - 1, Math.max(0, Math.floor(view.cursor.x - gutter)))];
        c.fillStyle = number ? colours.test : colours.base;
        text(Number.isNaN(value) ? "not in this trace" : `${value.toFixed(digits)} ${unit}`, 8, y + 43 + 14 * number, gutter - 10);
      });
    }

    function drawSelected(top) {
      if (view.selected === null) return;
      const { side, decision } = view.selected, { decisions } = side.tables, c = context;
      const x = xOf(decisions.time[decision]);
      if (x < gutter || x > width) return;
      const middle = (number) => {
        const row = rowOf(side, number);
        return row ? row.y - top + row.h / 2 : null;
      };
      c.strokeStyle = colours.ink;
      c.lineWidth = 1;
      c.beginPath();
      c.moveTo(Math.round(x) + 0.5, AXIS);
      c.lineTo(Math.round(x) + 0.5, height);
      c.stroke();
      const ring = (number, colour, radius) => {
        const y = middle(number);
        if (y === null) return;
        c.strokeStyle = colour;
        c.lineWidth = 2;
        c.beginPath();
        c.arc(x, y, radius, 0, 7);
        c.stroke();
      };
      for (const number of candidates(side, decision).keys()) ring(number, colours.soft, 3);
      if (decisions.prev[decision]) ring(decisions.prev[decision] - 1, colours.soft, 5);
      const other = otherAnswer(model, side, decision);
      if (other && side.differs[decision]) ring(other.chosen, colours.differs, 7);
      ring(decisions.chosen[decision], colours.ink, 7);
    }

    // ---- moving ----

    function show(from, to) {
      const size = Math.min(span, Math.max(to - from, Math.min(span, 200)));
      from = Math.min(Math.max(axisFrom, from), axisTo - size);
      view.from = from;
      view.to = from + size;
      redraw();
    }
    function zoom(by, time = view.cursor ? view.cursor.time : (view.from + view.to) / 2) {
      const size = (view.to - view.from) * by;
      const share = (time - view.from) / (view.to - view.from);
      show(time - share * size, time - share * size + size);
    }
    const pan = (share) => { const by = (view.to - view.from) * share; show(view.from + by, view.to + by); };

    const rowOf = (side, cpu) => rows.find((row) => row.type === "cpu" && row.side === side && row.cpu === cpu);

    function reveal(side, decision) {
      const time = side.tables.decisions.time[decision], size = view.to - view.from;
      if (time < view.from || time > view.to) show(time - size / 2, time + size / 2);
      const row = rowOf(side, side.tables.decisions.chosen[decision]);
      if (row && (row.y - scroll.scrollTop < AXIS || row.y + row.h - scroll.scrollTop > height)) scroll.scrollTop = row.y - height / 2;
    }

    function select(side, decision) {
      view.selected = { side, decision };
      reveal(side, decision);
      details(side, decision);
      redraw();
    }

    // The next placement in a direction: of the tasks that are searched for, if there are some.
    function step(direction, differing = false) {
      const side = view.selected ? view.selected.side : model.sides[0], { decisions } = side.tables;
      const wanted = (i) => (view.marked === null || view.marked[side.number].flags[decisions.thread[i]]) && (!differing || side.differs[i]);
      let i = view.selected ? view.selected.decision + direction : notBelow(decisions.time, 0, decisions.rows, view.from);
      if (!view.selected && direction < 0) i--;
      while (i >= 0 && i < decisions.rows && !wanted(i)) i += direction;
      if (i >= 0 && i < decisions.rows) return select(side, i);
      say(differing ? "No later placement that the other scheduler decides otherwise." : "No further placement.");
    }

    // ---- search ----

    function find(query) {
      view.query = query;
      const words = query.trim().toLowerCase();
      if (!words) {
        view.marked = null;
        found.replaceChildren();
        return redraw();
      }
      const is = (thread) => thread.name.toLowerCase().includes(words) || String(thread.pid) === words || `${thread.name}-${thread.pid}`.toLowerCase() === words;
      view.marked = model.sides.map((side) => {
        const flags = Uint8Array.from(side.threads, (thread) => is(thread) ? 1 : 0), { runs } = side.tables;
        const lanes = side.cpus.map((_, lane) => {
          const begin = [], length = [], thread = [];
          for (let i = runs.first[lane]; i < runs.first[lane + 1]; i++) {
            if (flags[runs.thread[i]]) { begin.push(runs.begin[i]); length.push(runs.length[i]); thread.push(runs.thread[i]); }
          }
          return { begin: Float64Array.from(begin), length: Float64Array.from(length), thread, sum: sums(length) };
        });
        return { flags, lanes };
      });
      const items = [];
      model.sides.forEach((side) => side.threads.forEach((thread, number) => {
        if (!view.marked[side.number].flags[number]) return;
        const count = side.byThread.first[number + 1] - side.byThread.first[number];
        items.push({ side, number, count });
      }));
      const shown = items.slice(0, 60).map(({ side, number, count }) => make("li", {},
        make("button", { type: "button", onclick: () => { first(side, number); scroll.focus(); } },
          make("b", {}, threadName(side, number)),
          ` ${model.sides.length > 1 ? `${side.name}, ` : ""}${count} placements, ran ${duration(side.runTime[number])}`)));
      if (!items.length) shown.push(make("li", { class: "fg-soft" }, "No task has this name or pid."));
      if (items.length > 60) shown.push(make("li", { class: "fg-soft" }, `and ${items.length - 60} more`));
      found.replaceChildren(...shown);
      redraw();
    }

    // The first placement of a thread that is in view, else the first of all.
    function first(side, thread) {
      const { first: firsts, rows: all } = side.byThread, { time } = side.tables.decisions;
      const its = all.subarray(firsts[thread], firsts[thread + 1]);
      const next = its.find((row) => time[row] >= view.from && time[row] <= view.to);
      if (its.length) return select(side, next === undefined ? its[0] : next);
      say(`${threadName(side, thread)} has no placement in this trace.`);
    }

    // ---- details ----

    function say(words) { panel.replaceChildren(make("p", {}, words)); }

    function stepsOf(side, table, numbers, numberFirst, from, to, rules) {
      const out = [];
      for (let i = from; i < to; i++) {
        out.push({
          rule: table.rule[i] ? rules[table.rule[i] - 1] : null,
          cpu: table.cpu[i] ? table.cpu[i] - 1 : null,
          text: stepText(side, table.text[i], numbers, numberFirst[i]),
        });
      }
      return out;
    }
    function ownSteps(side, decision) {
      const t = side.tables;
      return stepsOf(side, t.steps, t.numbers, side.numberFirst, side.stepFirst[decision], side.stepFirst[decision + 1], side.rules);
    }
    function answerSteps(side, answer) {
      const t = side.tables;
      return stepsOf(side, t.answer_steps, t.answer_numbers, side.answerNumberFirst, side.answerFirst[answer], side.answerFirst[answer + 1], side.asked.rules);
    }
    function byCpu(steps) {
      const out = new Map();
      for (const one of steps) {
        if (one.cpu === null) continue;
        if (!out.has(one.cpu)) out.set(one.cpu, []);
        out.get(one.cpu).push(one);
      }
      return out;
    }
    const candidates = (side, decision) => byCpu(ownSteps(side, decision));

    function candidateTable(side, time, steps, chosen, prev, caption) {
      const all = byCpu(steps);
      for (const cpu of [prev, chosen]) if (cpu !== null && !all.has(cpu)) all.set(cpu, []);
      const body = [...all.keys()].sort((a, b) => a - b).map((cpu) => {
        const lane = side.lane.get(cpu), now = lane === undefined ? null : cpuAt(side, lane, time - 1);
        const known = lane === undefined ? null : side.cpus[lane];
        const what = all.get(cpu).map((one) => make("li", {}, one.text));
        return make("tr", cpu === chosen ? { class: "fg-chosen" } : {},
          make("th", { scope: "row" }, `${cpu}${cpu === chosen ? " ✓" : ""}`),
          make("td", {}, now === null ? "not in this trace" : doing(side, now),
            make("div", { class: "fg-soft" }, now === null ? "" : [
              known.kind, now.khz === null ? null : megahertz(now.khz), now.util === null ? null : `util ${now.util}`,
              leftInWords(known, now),
              known.capacity !== null && now.left === null ? `capacity ${known.capacity}` : null, cpu === prev ? "previous CPU" : null,
            ].filter(Boolean).join(", "))),
          make("td", {}, what.length ? make("ul", {}, ...what) : make("span", { class: "fg-soft" }, steps.length ? "not looked at" : "not in this trace")));
      });
      return make("table", { class: "fg-candidates" }, make("caption", {}, caption),
        make("thead", {}, make("tr", {}, ...["CPU", "just before", "what the policy found"].map((name) => make("th", { scope: "col" }, name)))),
        make("tbody", {}, ...body));
    }

    function stepList(steps) {
      const items = [];
      let last = null;
      for (const one of steps) {
        if (one.rule && one.rule !== last) items.push(make("li", { class: "fg-rule", title: one.rule.text }, one.rule.title));
        items.push(make("li", { class: one.rule ? "fg-in" : "" }, one.text));
        last = one.rule;
      }
      return make("ol", { class: "fg-steps" }, ...items);
    }

    const NO_REASONS = "Reasons are not in this trace; fairground run … --trace FILE --why records them.";

    function verdict(side, decision) {
      const { decisions, answers } = side.tables, chosen = decisions.chosen[decision], out = [];
      const agrees = (cpu, possible = [cpu]) => {
        if (cpu === chosen) return make("b", { class: "fg-same" }, "the same CPU");
        return possible.includes(chosen) ? make("b", {}, "another CPU, or the same") : make("b", { class: "fg-differs" }, "another CPU");
      };
      if (decision < model.in_step) {
        const other = model.sides[1 - side.number], d = other.tables.decisions, rule = d.rule[decision];
        out.push(make("h4", {}, `Under ${other.label}`),
          make("p", {}, `CPU ${d.chosen[decision]}, `, agrees(d.chosen[decision]), rule ? ` by ${other.rules[rule - 1].title}` : ""),
          make("p", { class: "fg-soft" }, `The ${other.name}'s own decision: up to here all events of both runs are the same.`,
            make("br"), make("button", { type: "button", onclick: () => select(other, decision) }, `show it in ${other.name}`)));
      }
      const answer = side.answerOf[decision];
      if (answer >= 0) {
        const rule = answers.rule[answer], doubt = answers.doubt[answer];
        const possible = possibleOf(side, answer);
        const steps = answerSteps(side, answer);
        out.push(make("h4", {}, out.length ? "The same, asked" : `Under ${side.asked.label}`),
          make("p", {}, `CPU ${answers.chosen[answer]}, `, agrees(answers.chosen[answer], possible), rule ? ` by ${side.asked.rules[rule - 1].title}` : ""),
          make("p", { class: "fg-soft" }, "The policy was asked about the same state, repeated from this trace: ",
            doubt ? `not sure, ${side.asked.doubts[doubt - 1]}; possible: CPU ${possible.join(", ")}.` : "sure."));
        if (steps.length) {
          out.push(make("details", {}, make("summary", {}, "its candidates and steps"),
            candidateTable(side, decisions.time[decision], steps, answers.chosen[answer], decisions.prev[decision] ? decisions.prev[decision] - 1 : null, `Candidates of ${side.asked.label}`),
            stepList(steps)));
        }
      }
      if (!out.length) {
        const why = side.asked ? `${side.asked.label} was asked at wakeups that can be judged; this is not one.` : "No other scheduler was asked (--ask, or a second side).";
        out.push(make("h4", {}, "Under another scheduler"), make("p", { class: "fg-soft" }, why));
      }
      return out;
    }

    function details(side, decision) {
      const d = side.tables.decisions, thread = d.thread[decision], rule = d.rule[decision] ? side.rules[d.rule[decision] - 1] : null;
      const by = d.by[decision] ? threadName(side, d.by[decision] - 1) : null, kind = d.kind[decision];
      const prev = d.prev[decision] ? d.prev[decision] - 1 : null, chosen = d.chosen[decision];
      const steps = ownSteps(side, decision);
      const occasion = kind >= 3 ? `on CPU ${d.on[decision]}` : `on CPU ${d.on[decision]}, ${by === null ? "which idles" : `which runs ${by}`}`;
      const none = side.has.decisions ? "No decision: the task was still on a queue (ttwu_runnable), or the run does not report one." : "The rule is not in this trace.";
      const wait = d.wait[decision] ? duration(d.wait[decision] - 1) : "not in this trace";
      panel.replaceChildren(
        make("h3", {}, `${threadName(side, thread)} ${KINDS[kind]}`),
        make("dl", {},
          make("dt", {}, "time"), make("dd", {}, `${seconds(side, d.time[decision])} s${model.sides.length > 1 ? `, ${side.name}` : ""}`),
          make("dt", {}, "happens"), make("dd", {}, occasion),
          make("dt", {}, "goes"), make("dd", {}, `from ${prev === null ? "a CPU not in this trace" : `CPU ${prev}`} to `, make("b", {}, `CPU ${chosen}`)),
          make("dt", {}, "by"), rule ? make("dd", {}, make("b", {}, rule.title), rule.text ? make("div", { class: "fg-soft" }, rule.text) : null) : make("dd", { class: "fg-soft" }, none),
          make("dt", {}, "looked at"), make("dd", {}, side.has.decisions ? `${d.probes[decision]} CPUs probed, ${d.group_cpus[decision]} in group statistics` : "not in this trace"),
          make("dt", {}, "runs after"), make("dd", {}, wait)),
        make("p", { class: "fg-go" },
          make("button", { type: "button", onclick: () => within(side, decision, -1) }, "‹ of this task"),
          make("button", { type: "button", onclick: () => within(side, decision, 1) }, "of this task ›"),
          make("button", { type: "button", onclick: () => { const t = d.time[decision]; show(t - 50000, t + 50000); } }, "zoom here")),
        ...verdict(side, decision),
        make("h4", {}, "Candidates"),
        steps.length || !side.has.decisions ? candidateTable(side, d.time[decision], steps, chosen, prev, steps.length ? `As ${side.label} saw them` : "Previous and chosen CPU") : make("p", { class: "fg-soft" }, side.has.reasons ? "It looked at none." : NO_REASONS),
        side.has.decisions ? "" : make("p", { class: "fg-soft" }, "What its scheduler looked at is not in this trace."),
        steps.length ? make("details", { open: "" }, make("summary", {}, "step by step"), stepList(steps)) : "");
      panel.scrollTop = 0;
    }

    function within(side, decision, direction) {
      const { first: firsts, rows: all } = side.byThread, thread = side.tables.decisions.thread[decision];
      const its = all.subarray(firsts[thread], firsts[thread + 1]), at = its.indexOf(decision) + direction;
      if (at >= 0 && at < its.length) select(side, its[at]);
    }

    // A run: what ran, and the placement that led to it.
    function showRun(side, lane, run) {
      const { runs, decisions } = side.tables, thread = runs.thread[run], begin = runs.begin[run];
      const { first: firsts, rows: all } = side.byThread;
      const its = all.subarray(firsts[thread], firsts[thread + 1]);
      let last = -1;
      for (let lo = 0, hi = its.length; lo < hi;) {
        const mid = (lo + hi) >>> 1;
        if (decisions.time[its[mid]] <= begin) { last = its[mid]; lo = mid + 1; } else hi = mid;
      }
      if (last >= 0) return select(side, last);
      view.selected = null;
      say(`${threadName(side, thread)} ran on CPU ${side.cpus[lane].cpu} from ${seconds(side, begin)} s on, for ${duration(runs.length[run])}. No placement of it before that is in this trace.`);
      redraw();
    }

    function facts() {
      const one = (side) => {
        const lacks = [];
        const { has } = side;
        if (!has.switches) lacks.push("what runs (sched_switch)");
        if (!has.idle) lacks.push("idle states (cpu_idle)");
        if (!has.frequency) lacks.push("frequencies (cpu_frequency)");
        if (!has.utilization) lacks.push("utilization (sched_pelt_cfs)");
        if (!has.energy) lacks.push("energy");
        if (has.decisions && !has.reasons) lacks.push("reasons (--why)");
        if (!has.decisions) lacks.push("rules of placements");
        const { power, decisions } = side.tables;
        let joules = 0;
        for (const pj of power.pj) joules += pj / 1e12;
        const counted = side.differs.reduce((sum, one) => sum + one, 0);
        const unsure = side.tables.answers.doubt.reduce((sum, doubt, i) => sum + (doubt && side.tables.answers.decision[i] >= model.in_step ? 1 : 0), 0);
        const figures = [
          `${side.events.toLocaleString("en")} events in ${duration(side.to_ns - side.from_ns)}`, `${decisions.rows.toLocaleString("en")} placements`,
          side.asked || model.in_step ? `${counted.toLocaleString("en")}${side.asked ? "" : ` of the first ${model.in_step.toLocaleString("en")}`} where the other scheduler decides otherwise${unsure ? `, ${unsure.toLocaleString("en")} where that is not sure` : ""}` : null,
          power.rows ? `${joules.toPrecision(4)} J` : null,
        ].filter(Boolean).join(", ");
        return make("div", { class: side.number ? "fg-side fg-test" : "fg-side" },
          make("b", {}, `${side.name}: ${side.label}`), make("div", {}, figures),
          make("div", { class: "fg-soft" }, side.facts.map(([key, value]) => `${key} ${value}`).join(", ")),
          lacks.length ? make("div", { class: "fg-soft" }, `Not in this trace: ${lacks.join(", ")}.`) : null,
          notes(side));
      };
      const step = model.sides.length < 2 ? null : make("p", { class: "fg-soft" },
        model.in_step ? `Both runs are the same up to their placement ${model.in_step.toLocaleString("en")}; from there on each goes its own way.` : "The runs differ from their first placement on.");
      return make("header", { class: "fg-facts" }, ...model.sides.map(one), step);
    }

    function notes(side) {
      const all = [...side.notes, ...(side.asked ? side.asked.notes.map((note) => `${side.asked.label}: ${note}`) : [])];
      if (!all.length) return null;
      return make("details", {}, make("summary", {}, `${all.length} ${all.length === 1 ? "note" : "notes"}`), make("ul", {}, ...all.map((note) => make("li", {}, note))));
    }

    function help() {
      const keys = [["← → a d", "move"], ["+ − w s", "zoom; also Ctrl and the wheel, or two fingers"], ["↑ ↓", "scroll through CPUs"], ["0", "show all"],
        ["[ ]", "lower, higher lanes"], ["u", "only CPUs on which something happens, or all"], ...(model.sides.length > 1 ? [["c", "both sides of a CPU below each other, or not"]] : []),
        ["n p", "next, previous placement (of the tasks searched for)"], ["x", "next placement that the other scheduler decides otherwise"],
        ["Enter", "to the details, Escape back"], ["/", "search a task"]];
      const legend = [["fg-k-run", "a task runs; a bar of several is as high as the share of time they fill"], ["fg-k-clock", "frequency, of the highest"], ["fg-k-idle", "idle state, deeper is stronger"],
        ["fg-k-mark", "placement onto this CPU"], ["fg-k-differs", "placement that the other scheduler decides otherwise"]];
      panel.replaceChildren(make("h3", {}, "How to read it"),
        make("ul", { class: "fg-legend" }, ...legend.map(([name, words]) => make("li", {}, make("span", { class: name }), words))),
        make("p", {}, "Click a mark to see the placement: each candidate with its numbers, the rule, and the same decision under the other scheduler. Click what runs to see how it came there."),
        make("h3", {}, "Keys"), make("dl", { class: "fg-keys" }, ...keys.flatMap(([key, words]) => [make("dt", {}, key), make("dd", {}, words)])));
    }

    // ---- input ----

    function rowAtY(y) {
      const at = y + scroll.scrollTop;
      return y < AXIS ? null : rows.find((row) => at >= row.y && at < row.y + row.h) || null;
    }

    function hover(x, y) {
      view.cursor = x > gutter ? { x, time: timeOf(x) } : null;
      const row = rowAtY(y);
      if (!view.cursor) readout.textContent = "";
      else {
        const side = row && row.side ? row.side : model.sides[0];
        let words = `${seconds(side, view.cursor.time)} s`;
        if (row && row.type === "cpu") {
          const now = cpuAt(side, row.lane, view.cursor.time), known = side.cpus[row.lane];
          words += `, ${model.sides.length > 1 ? `${side.name}, ` : ""}CPU ${known.cpu}: ${doing(side, now)}`;
          words += now.khz === null ? (side.has.frequency ? "" : ", frequency not in this trace") : `, ${megahertz(now.khz)}`;
          if (now.left !== null) words += `, ${leftInWords(known, now)}`;
        }
        readout.textContent = words;
      }
      redraw();
    }

    function click(x, y) {
      const row = rowAtY(y);
      if (!row || row.type !== "cpu" || x < gutter) return;
      const { side, lane } = row, time = timeOf(x), lo = side.byLane.first[lane], hi = side.byLane.first[lane + 1];
      const next = notBelow(side.laneTime, lo, hi, time);
      let best = -1;
      for (const i of [next - 1, next]) {
        if (i >= lo && i < hi && Math.abs(xOf(side.laneTime[i]) - x) <= 6 && (best < 0 || Math.abs(side.laneTime[i] - time) < Math.abs(side.laneTime[best] - time))) best = i;
      }
      if (best >= 0) return select(side, side.byLane.rows[best]);
      const run = spanAt(side.tables.runs, lane, time);
      if (run >= 0) showRun(side, lane, run);
    }

    const pointers = new Map();
    let dragged = 0;
    const place = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    function down(event) {
      pointers.set(event.pointerId, place(event));
      dragged = 0;
      if (pointers.size === 1) scroll.setPointerCapture(event.pointerId);
    }
    function move(event) {
      const [x, y] = place(event), before = pointers.get(event.pointerId);
      if (!before) return hover(x, y);
      if (pointers.size === 1) {
        dragged += Math.abs(x - before[0]);
        if (dragged > 3) { const by = (before[0] - x) / scale(); show(view.from + by, view.to + by); }
      } else if (pointers.size === 2) {
        const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
        const was = Math.abs(before[0] - other[0]), is = Math.abs(x - other[0]);
        dragged = 9;
        if (was > 8 && is > 8) zoom(was / is, timeOf((x + other[0]) / 2));
      }
      pointers.set(event.pointerId, [x, y]);
      hover(x, y);
    }
    function up(event) {
      if (!pointers.delete(event.pointerId) || event.type === "pointercancel") return;
      if (dragged <= 3) click(...place(event));
    }
    function wheel(event) {
      const [x] = place(event);
      if (event.ctrlKey || event.metaKey) zoom(Math.exp(event.deltaY * 0.002), timeOf(Math.max(x, gutter)));
      else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(((event.deltaX || event.deltaY) / Math.max(1, width - gutter)));
      else return;
      event.preventDefault();
    }
    function key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const does = {
        ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15), a: () => pan(-0.15), d: () => pan(0.15),
        "+": () => zoom(0.6), "=": () => zoom(0.6), w: () => zoom(0.6), "-": () => zoom(1 / 0.6), s: () => zoom(1 / 0.6),
        0: () => show(axisFrom, axisTo), Home: () => show(axisFrom, axisFrom + view.to - view.from), End: () => show(axisTo, axisTo + view.to - view.from),
        "[": () => reshape({ height: shape.height - 1 }), "]": () => reshape({ height: shape.height + 1 }),
        u: () => reshape({ used: !shape.used }), c: () => reshape({ paired: !shape.paired && model.sides.length > 1 }),
        n: () => step(1), p: () => step(-1), x: () => step(1, true), "/": () => search.focus(), "?": help,
        Enter: () => panel.focus(), Escape: () => { view.selected = null; search.value = ""; find(""); help(); },
      }[event.key];
      if (!does) return;
      event.preventDefault();
      does();
    }

    const listen = (target, name, does, options) => { target.addEventListener(name, does, options); ends.push(() => target.removeEventListener(name, does, options)); };
    listen(scroll, "pointerdown", down);
    listen(scroll, "pointermove", move);
    listen(scroll, "pointerup", up);
    listen(scroll, "pointercancel", up);
    listen(scroll, "pointerleave", () => { view.cursor = null; readout.textContent = ""; redraw(); });
    listen(scroll, "wheel", wheel, { passive: false });
    listen(scroll, "scroll", redraw);
    listen(scroll, "keydown", key);
    listen(panel, "keydown", (event) => { if (event.key === "Escape") scroll.focus(); });
    listen(search, "input", () => find(search.value));
    listen(search, "keydown", (event) => {
      if (event.key === "Enter") { step(1); scroll.focus(); }
      if (event.key === "Escape") { search.value = ""; find(""); scroll.focus(); }
    });
    listen(window.matchMedia("(prefers-color-scheme: dark)"), "change", readColours);
    const observer = new ResizeObserver(resize);
    observer.observe(scroll);
    ends.push(() => observer.disconnect());

    layout();
    readColours();
    help();
    resize();

    return {
      model,
      show: (from, to) => show(from, to),
      select: (side, decision) => select(model.sides[side], decision),
      search: (words) => { search.value = words; find(words); },
      draw,
      state: () => ({
        from: view.from, to: view.to, lanes: rows.filter((row) => row.type === "cpu").length, ...shape, readMs, frames: view.frames.slice(), query: view.query,
        selected: view.selected && { side: view.selected.side.number, decision: view.selected.decision },
      }),
      destroy: () => { ends.forEach((end) => end()); element.replaceChildren(); },
    };
  }

  // The model of a page: base64 of raw DEFLATE in an element.
  async function mountPacked(element, packed) {
    try {
      const bytes = Uint8Array.from(atob(packed.textContent.trim()), (c) => c.charCodeAt(0));
      packed.textContent = "";
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
      FairgroundView.page = mount(element, await new Response(stream).arrayBuffer());
    } catch (error) {
      element.replaceChildren(make("p", {}, `This page cannot be shown: ${error.message}`));
      throw error;
    }
  }

  return { mount, mountPacked, read, page: null };
})();
