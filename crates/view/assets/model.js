// A model of `fairground view` (crates/view/src/model.rs) from its bytes, and what is derived from it once.
"use strict";
const FairgroundModel = (() => {
  const MAGIC = "FGVIEW1\n";
  const HUES = 12;
  const BINS = 1 << 15;

  // ---- reading ------------------------------------------------------------------------------------------------------

  function column(bytes, at, rows, info) {
    const out = info.wide || info.rises ? new Float64Array(rows) : new Uint32Array(rows);
    let p = at + info.at, before = 0;
    for (let i = 0; i < rows; i++) {
      let value = 0, scale = 1, byte;
      do {
        byte = bytes[p++];
        value += (byte & 0x7f) * scale;
        scale *= 128;
      } while (byte & 0x80);
      if (info.rises) {
        before += value % 2 ? -(value + 1) / 2 : value / 2;
        value = before;
      }
      out[i] = value;
    }
    return out;
  }

  function read(input) {
    const bytes = input instanceof Uint8Array ? input : new Uint8Array(input);
    if (new TextDecoder().decode(bytes.subarray(0, 8)) !== MAGIC) throw new Error("not a model of fairground view");
    const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(8, true);
    const model = JSON.parse(new TextDecoder().decode(bytes.subarray(12, 12 + length)));
    for (const side of model.sides) {
      for (const [name, table] of Object.entries(side.tables)) {
        const data = { rows: table.rows, first: table.first };
        for (const info of table.columns) data[info.name] = column(bytes, 12 + length, table.rows, info);
        side.tables[name] = data;
      }
    }
    return model;
  }

  // The first index in [lo, hi) whose value is above (or not below) what is looked for.
  function above(values, lo, hi, value) {
    while (lo < hi) {
      const mid = (lo + hi) >>> 1;
      if (values[mid] > value) hi = mid; else lo = mid + 1;
    }
    return lo;
  }
  function notBelow(values, lo, hi, value) {
    while (lo < hi) {
      const mid = (lo + hi) >>> 1;
      if (values[mid] >= value) hi = mid; else lo = mid + 1;
    }
    return lo;
  }
  // The same near lo: steps that double, then binary search.
  function notBelowNear(values, lo, hi, value) {
    let step = 1, to = lo;
    while (to < hi && values[to] < value) { lo = to + 1; to += step; step *= 2; }
    return notBelow(values, lo, Math.min(to, hi), value);
  }

  function sums(lengths) {
    const out = new Float64Array(lengths.length + 1);
    for (let i = 0; i < lengths.length; i++) out[i + 1] = out[i] + lengths[i];
    return out;
  }

  function starts(counts) {
    const out = new Uint32Array(counts.length + 1);
    for (let i = 0; i < counts.length; i++) out[i + 1] = out[i] + counts[i];
    return out;
  }

  // Rows by the values of a column, in their order.
  function grouped(values, groups) {
    const counts = new Uint32Array(groups);
    for (const value of values) if (value < groups) counts[value]++;
    const first = starts(counts), next = first.slice(), rows = new Uint32Array(values.length);
    for (let i = 0; i < values.length; i++) if (values[i] < groups) rows[next[values[i]]++] = i;
    return { first, rows };
  }

  function hueOf(name) {
    let hash = 7;
    for (const c of name) hash = (hash * 31 + c.codePointAt(0)) >>> 0;
    return hash % HUES;
  }

  // What is derived from a side once.
  function prepare(model) {
    model.sides.forEach((side, number) => {
      const { runs, idles, decisions, steps, answers, answer_steps, power } = side.tables;
      side.number = number;
      side.lane = new Map(side.cpus.map((cpu, lane) => [cpu.cpu, lane]));
      side.runSum = sums(runs.length);
      side.idleSum = sums(idles.length);
      side.powerSum = sums(power.pj);
      side.hue = side.threads.map((thread) => hueOf(thread.name));
      side.stepFirst = starts(decisions.steps);
      side.answerFirst = starts(answers.steps);
      side.possibleFirst = starts(answers.possible);
      const slots = side.texts.map((text) => text.split("\u0001").length - 1);
      side.numberFirst = starts(steps.text.map((text) => slots[text]));
      side.answerNumberFirst = starts(answer_steps.text.map((text) => slots[text]));
      side.answerOf = new Int32Array(decisions.rows).fill(-1);
      for (let i = 0; i < answers.rows; i++) side.answerOf[answers.decision[i]] = i;
      side.byThread = grouped(decisions.thread, side.threads.length);
      const lanes = Uint32Array.from(decisions.chosen, (cpu) => side.lane.has(cpu) ? side.lane.get(cpu) : 0xffffffff);
      side.byLane = grouped(lanes, side.cpus.length);
      side.runTime = new Float64Array(side.threads.length);
      for (let i = 0; i < runs.rows; i++) side.runTime[runs.thread[i]] += runs.length[i];
      side.blocks = blocks(side.tables.clocks.khz);
      side.bins = bins(side, model.from_ns, model.to_ns);
    });
    for (const side of model.sides) {
      const { decisions } = side.tables;
      side.differs = new Uint8Array(decisions.rows);
      for (let i = 0; i < decisions.rows; i++) {
        side.differs[i] = differs(side, otherAnswer(model, side, i), decisions.chosen[i]) ? 1 : 0;
      }
      side.laneTime = new Float64Array(side.byLane.rows.length);
      const differing = new Uint32Array(side.byLane.rows.length + 1);
      side.byLane.rows.forEach((row, i) => {
        side.laneTime[i] = decisions.time[row];
        differing[i + 1] = differing[i] + side.differs[row];
      });
      side.laneDiffering = differing;
    }
    return model;
  }

  // Least and greatest of each 64 values.
  function blocks(values) {
    const n = Math.ceil(values.length / 64), low = new Float64Array(n), high = new Float64Array(n);
    for (let b = 0; b < n; b++) {
      let lo = Infinity, hi = -Infinity;
      for (let i = b * 64; i < Math.min(values.length, b * 64 + 64); i++) { lo = Math.min(lo, values[i]); hi = Math.max(hi, values[i]); }
      low[b] = lo; high[b] = hi;
    }
    return { low, high };
  }
  function range(values, { low, high }, from, to) {
    let lo = Infinity, hi = -Infinity, i = from;
    while (i < to) {
      if (i % 64 === 0 && i + 64 <= to) {
        lo = Math.min(lo, low[i / 64]); hi = Math.max(hi, high[i / 64]); i += 64;
      } else { lo = Math.min(lo, values[i]); hi = Math.max(hi, values[i]); i++; }
    }
    return [lo, hi];
  }

  // Time that all CPUs together were busy before the begin of each bin.
  function bins(side, from, to) {
    const { runs } = side.tables, width = Math.max(to - from, 1) / BINS, busy = new Float64Array(BINS + 1);
    for (let i = 0; i < runs.rows; i++) {
      const begin = runs.begin[i] - from;
      addSpan(busy, begin / width, (begin + runs.length[i]) / width, width);
    }
    const sum = new Float64Array(BINS + 1);
    for (let b = 0; b < BINS; b++) sum[b + 1] = sum[b] + busy[b];
    return { width, sum };
  }
  // Adds a span, in units of cells, to the cells it covers.
  function addSpan(cells, from, to, width) {
    from = Math.max(from, 0);
    to = Math.min(to, cells.length);
    if (to <= from) return;
    const a = Math.floor(from), b = Math.floor(to);
    if (a === b) { cells[a] += (to - from) * width; return; }
    cells[a] += (a + 1 - from) * width;
    for (let i = a + 1; i < b; i++) cells[i] += width;
    if (b < cells.length) cells[b] += (to - b) * width;
  }

  // The same decision under the other scheduler. While both runs are in step the other run decided on the same state.
  function otherAnswer(model, side, decision) {
    if (decision < model.in_step) {
      const other = model.sides[1 - side.number];
      return { run: other, chosen: other.tables.decisions.chosen[decision] };
    }
    const answer = side.answerOf[decision];
    return answer < 0 ? null : { answer, chosen: side.tables.answers.chosen[answer] };
  }

  // The CPUs that an answer may be; one if it is sure.
  function possibleOf(side, answer) {
    const { answers, possible } = side.tables;
    if (!answers.doubt[answer]) return [answers.chosen[answer]];
    return Array.from(possible.cpu.subarray(side.possibleFirst[answer], side.possibleFirst[answer + 1]));
  }

  // Whether the other scheduler surely chooses another CPU.
  function differs(side, other, chosen) {
    if (other === null) return false;
    return other.run ? other.chosen !== chosen : !possibleOf(side, other.answer).includes(chosen);
  }

  // ---- words --------------------------------------------------------------------------------------------------------

  function seconds(side, time) {
    const ns = BigInt(side.begin_ns) + BigInt(Math.round(time)), whole = ns / 1000000000n;
    return `${whole}.${String(ns % 1000000000n).padStart(9, "0")}`;
  }
  function duration(ns) {
    for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]]) {
      if (ns >= size) return `${Number((ns / size).toPrecision(4))} ${unit}`;
    }
    return `${Math.round(ns)} ns`;
  }
  const threadName = (side, thread) => `${side.threads[thread].name}-${side.threads[thread].pid}`;
  const megahertz = (khz) => `${Number((khz / 1000).toFixed(1))} MHz`;

  function stepText(side, text, numbers, at) {
    return side.texts[text].split("\u0001").map((part, i) => (i ? numbers.value[at + i - 1] : "") + part).join("");
  }

  // The last row at a time or before, in the lane's part of a table; -1 if there is none.
  function rowAt(table, key, lane, time) {
    const lo = table.first[lane], i = above(table[key], lo, table.first[lane + 1], time);
    return i === lo ? -1 : i - 1;
  }
  function spanAt(table, lane, time) {
    const i = rowAt(table, "begin", lane, time);
    return i >= 0 && time < table.begin[i] + table.length[i] ? i : -1;
  }

  // ---- rows ---------------------------------------------------------------------------------------------------------

  const LANE_HEIGHTS = [5, 10, 20, 34];

  // Which height shows all lanes on some two screens, as far as there is one.
  function fittingHeight(model) {
    const lanes = model.sides.reduce((sum, side) => sum + side.cpus.length, 0);
    return Math.max(0, LANE_HEIGHTS.findLastIndex((height) => lanes * height <= 2400));
  }

  // Whether something runs on a CPU, or is placed onto it, on some side.
  function isUsed(model, number) {
    return model.sides.some((side) => {
      const lane = side.lane.get(number);
      return lane !== undefined && [side.tables.runs, side.byLane].some(({ first }) => first[lane] < first[lane + 1]);
    });
  }

  // What is shown from `top` down: heads of sides, lanes, plots. `paired`: the sides of a CPU below each other; `used`: only CPUs on
  // which something happens. The plots of many lanes are above them.
  function rowsOf(model, top, { height, paired, used }) {
    const rows = [], { sides } = model;
    let y = top;
    const add = (row) => { rows.push({ y, ...row }); y += row.h; };
    const plots = () => {
      if (sides.some((side) => side.has.energy)) add({ h: 70, type: "power" });
      add({ h: 70, type: "busy" });
      if (sides.some((side) => side.has.utilization)) add({ h: 70, type: "util" });
    };
    const lanes = sides.flatMap((side) => side.cpus.map((cpu, lane) => ({ h: LANE_HEIGHTS[height], type: "cpu", side, lane, cpu: cpu.cpu })))
      .filter((row) => !used || isUsed(model, row.cpu));
    const many = lanes.length > 64;
    if (many) plots();
    if (paired) lanes.sort((a, b) => a.cpu - b.cpu || a.side.number - b.side.number).forEach(add);
    else {
      for (const side of sides) {
        if (sides.length > 1) add({ h: 22, type: "head", side });
        lanes.filter((row) => row.side === side).forEach(add);
      }
    }
    if (!many) plots();
    return { rows, height: y };
  }

  // What a CPU does at a time; null: not in this trace.
  function cpuAt(side, lane, time) {
    const { runs, idles, clocks, utils, caps } = side.tables, cpu = side.cpus[lane];
    const run = spanAt(runs, lane, time), idle = spanAt(idles, lane, time);
    const clock = rowAt(clocks, "time", lane, time), util = rowAt(utils, "time", lane, time), cap = rowAt(caps, "time", lane, time);
    const capacity = cap < 0 ? cpu.capacity : caps.capacity[cap];
    const state = idle < 0 ? null : idles.state[idle];
    return {
      run, thread: run < 0 ? null : runs.thread[run],
      idle: state === null ? null : cpu.idle_states[state] || `state ${state}`,
      khz: clock < 0 ? null : clocks.khz[clock],
      util: util < 0 ? null : utils.util[util],
      // What cooling leaves of the CPU's capacity.
      capacity,
      left: util < 0 || capacity === null ? null : Math.max(0, capacity - utils.util[util]),
    };
  }
  // The capacity that is left of that which there is, in words; null: not known.
  function leftInWords(known, now) {
    if (now.left === null) return null;
    return `${now.left} of ${now.capacity} left${now.capacity < known.capacity ? ` (cooling takes ${known.capacity - now.capacity})` : ""}`;
  }
  function doing(side, now) {
    if (now.thread !== null) return threadName(side, now.thread);
    if (now.idle !== null) return `idle, ${now.idle}`;
    return side.has.switches ? "idle" : "not in this trace";
  }

  return {
    HUES, BINS, above, addSpan, cpuAt, doing, duration, fittingHeight, leftInWords, LANE_HEIGHTS, megahertz, notBelow, notBelowNear, otherAnswer, possibleOf, prepare, range,
    read, rowsOf, seconds, spanAt, stepText, sums, threadName,
  };
})();
