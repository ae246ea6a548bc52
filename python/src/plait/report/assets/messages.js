// SPDX-License-Identifier: Apache-2.0
// Data in flight, data rate (both on the run's view), and the scatter of send time against receive time.
"use strict";

// Bytes in flight from each sending rank as a curve of steps.
plait.flightCurves = function (m) {
  const curves = new Map();
  for (let i = 0; i < m.sent.length; i++) {
    if (!curves.has(m.source[i])) curves.set(m.source[i], []);
    curves.get(m.source[i]).push(i);
  }
  const result = [];
  for (const [rank, list] of [...curves].sort((a, b) => a[0] - b[0])) {
    const n = list.length, ends = Float64Array.from(list, (i) => m.received[i]);
    const order = Uint32Array.from(ends.keys()).sort((a, b) => ends[a] - ends[b]);
    const time = new Float64Array(2 * n), value = new Float64Array(2 * n);
    let a = 0, b = 0, sum = 0;
    for (let k = 0; k < 2 * n; k++) {
      if (a < n && m.sent[list[a]] <= ends[order[b]]) { time[k] = m.sent[list[a]]; sum += m.bytes[list[a]]; a++; }
      else { time[k] = ends[order[b]]; sum -= m.bytes[list[order[b]]]; b++; }
      value[k] = sum;
    }
    result.push({ rank, time, value, peak: value.reduce((a, b) => Math.max(a, b), 0) });
  }
  const chosen = plait.chooseRanks(new Map(result.map((c) => [c.rank, c.peak])));
  return result.filter((c) => chosen.has(c.rank));
};

plait.rankColour = function (rank) {
  if (!plait.rankColours) plait.rankColours = new Map(plait.data.ranks.map((r) => [r.rank, r.colour]));
  return plait.rankColours.get(rank) || "#777777";
};

plait.rankDash = (rank) => [[], [6, 3], [2, 2], [7, 2, 2, 2]][Math.floor(rank / plait.data.rank_colours) % 4];

// Ranks that curves are drawn of: all, or of more than can be told apart those with the highest peaks.
plait.CURVES_MAX = 16; plait.HIGHEST = 8;
plait.chooseRanks = function (peaks) {
  if (peaks.size <= plait.CURVES_MAX) return new Set(peaks.keys());
  return new Set([...peaks].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, plait.HIGHEST).map(([rank]) => rank));
};

plait.CurvesPanel = class extends plait.Panel {
  // curves(): for the current view, [{rank, x: [..], y: [..]}] as corners of a line.
  constructor(figure, view, options) {
    super(figure, view, 210, { left: 128, top: 12 });
    this.options = options;
    this.describe(options.name + " over time, a curve for each rank");
  }
  draw(ctx) {
    const curves = this.options.curves(this);
    let high = 0;
    for (const c of curves) for (const v of c.y) if (v > high) high = v;
    high = high > 0 ? high * 1.08 : 1;
    const y = (v) => this.bottom - v / high * (this.bottom - this.top);
    this.curves = curves; this.high = high;
    this.yAxis(this.options.ticks(high), y, this.options.label, this.options.name);
    ctx.save();
    ctx.beginPath(); ctx.rect(this.left, this.top - 2, this.right - this.left, this.bottom - this.top + 3); ctx.clip();
    for (const c of curves) {
      ctx.strokeStyle = plait.rankColour(c.rank); ctx.fillStyle = plait.rankColour(c.rank);
      ctx.beginPath();
      for (let i = 0; i < c.x.length; i++) i ? ctx.lineTo(c.x[i], y(c.y[i])) : ctx.moveTo(c.x[i], y(c.y[i]));
      ctx.lineWidth = 1.3; ctx.globalAlpha = 0.9; ctx.setLineDash(plait.rankDash(c.rank)); ctx.stroke(); ctx.setLineDash([]);
      if (c.x.length) { ctx.lineTo(c.x[c.x.length - 1], y(0)); ctx.lineTo(c.x[0], y(0)); ctx.globalAlpha = 0.13; ctx.fill(); }
      ctx.globalAlpha = 1; ctx.lineWidth = 1;
    }
    ctx.restore();
    this.stepLines(this.top, this.bottom);
    this.timeAxis();
    this.drawSelection(ctx);
  }
  hover(x, y, event) {
    if (x < this.left || x > this.right || !this.curves) return plait.hideTip();
    const rows = this.curves.map((c) => {
      let i = plait.upper(c.x, x, 0, c.x.length) - 1;
      return "<tr><td><i style='background:" + plait.rankColour(c.rank) + "'></i>rank " + c.rank + "</td><td>" + this.options.label(i >= 0 ? c.y[i] : 0) + "</td></tr>";
    });
    plait.showTip(event, "<b>" + plait.time(this.t(x) * plait.data.quantum_ns) + "</b><table>" + rows.slice(0, 16).join("") + "</table>");
  }
};

// The corners of step curves in view; where there are many to a pixel, their extremes.
plait.cornersInView = function (panel, curves) {
  return curves.map(({ rank, time, value }) => {
    const x = [], y = [];
    const from = Math.max(0, plait.upper(time, panel.view.t0, 0, time.length) - 1);
    const to = Math.min(time.length, plait.upper(time, panel.view.t1, 0, time.length) + 1);
    const dense = to - from > 3 * (panel.right - panel.left);
    if (!dense) {
      let before = from > 0 ? value[from - 1] : 0;
      for (let i = from; i < to; i++) { const px = panel.x(time[i]); x.push(px, px); y.push(before, value[i]); before = value[i]; }
    } else {
      let i = from, last = from > 0 ? value[from - 1] : 0;
      for (let px = Math.floor(panel.left); px <= panel.right; px++) {
        const until = panel.t(px + 1);
        let low = Infinity, high = -Infinity;
        for (; i < to && time[i] < until; i++) { if (value[i] < low) low = value[i]; if (value[i] > high) high = value[i]; }
        if (high < low) continue;
        x.push(px, px, px, px); y.push(last, low, high, value[i - 1]);
        last = value[i - 1];
      }
    }
    return { rank, x, y };
  });
};

// Bytes that arrive at each rank per second, in bins of three pixels; a message's bytes are spread
// evenly from when both sides had posted it to its arrival.
plait.ratesInView = function (panel, m) {
  const bins = Math.max(1, Math.floor((panel.right - panel.left) / 3)), view = panel.view;
  const width = (view.t1 - view.t0) / bins, of = new Map();
  const from = plait.upper(m.reached, view.t0, 0, m.sent.length), to = plait.upper(m.sent, view.t1, from, m.sent.length);
  for (let i = from; i < to; i++) {
    const end = m.arrived[i];
    if (end < view.t0) continue;
    const begin = Math.min(m.sent[i] + m.begun[i], end - 1);
    if (!of.has(m.destination[i])) of.set(m.destination[i], new Float64Array(bins));
    const bin = of.get(m.destination[i]), slope = m.bytes[i] / (end - begin);
    const first = Math.max(0, Math.floor((begin - view.t0) / width)), last = Math.min(bins - 1, Math.floor((end - view.t0) / width));
    for (let k = first; k <= last; k++) {
      const low = Math.max(begin, view.t0 + k * width), high = Math.min(end, view.t0 + (k + 1) * width);
      if (high > low) bin[k] += slope * (high - low);
    }
  }
  const seconds = width * plait.data.quantum_ns * 1e-9;
  const chosen = plait.chooseRanks(new Map([...of].map(([rank, bin]) => [rank, bin.reduce((a, b) => Math.max(a, b), 0)])));
  return [...of].filter(([rank]) => chosen.has(rank)).sort((a, b) => a[0] - b[0]).map(([rank, bin]) => {
    const x = [], y = [];
    bin.forEach((bytes, k) => { x.push(panel.left + 3 * k, panel.left + 3 * (k + 1)); y.push(bytes / seconds, bytes / seconds); });
    return { rank, x, y };
  });
};

plait.ScatterPanel = class extends plait.Canvas {
  constructor(figure, m) {
    super(figure, 460, { left: 84, top: 14, right: 20, bottom: 46 });
    this.m = m;
    this.describe("a dot for each message: when it was sent, and how long it was under way");
    this.element.addEventListener("pointermove", (event) => this.hover(event));
    this.element.addEventListener("pointerleave", () => plait.hideTip());
  }
  draw(ctx) {
    if (plait.data.steps.start.length < 2) return this.drawDelays(ctx);
    const m = this.m, n = m.sent.length, q = plait.data.quantum_ns;
    const received = (i) => m.since[i] + m.received[i] - m.sent[i];
    if (this.high === undefined) {
      // The few slowest must not squeeze the rest into a corner: the axis ends at the 99.9th percentile.
      const all = Float64Array.from({ length: n }, (_, i) => received(i)).sort();
      this.high = Math.max(1, all[Math.min(n - 1, Math.floor(n * 0.999))]) * 1.03;
    }
    const high = this.high, [scale, unit] = plait.timeUnit(high * q);
    const x = (v) => this.left + v / high * (this.right - this.left), y = (v) => this.bottom - v / high * (this.bottom - this.top);
    const ticks = plait.ticks(0, high * q / scale, 8);
    this.yAxis(plait.ticks(0, high * q / scale, 7), (v) => y(v * scale / q), plait.number, "received, since the start of its step [" + unit + "]");
    ctx.save();
    ctx.beginPath(); ctx.rect(this.left, this.top, this.right - this.left, this.bottom - this.top); ctx.clip();
    ctx.strokeStyle = plait.soft; ctx.setLineDash([5, 4]);
    ctx.beginPath(); ctx.moveTo(x(0), y(0)); ctx.lineTo(x(high), y(high)); ctx.stroke(); ctx.setLineDash([]);
    const stride = Math.max(1, Math.ceil(n / 60000)), radius = n > 5000 ? 1.1 : n > 500 ? 1.8 : 3;
    ctx.globalAlpha = n > 20000 ? 0.35 : n > 2000 ? 0.5 : 0.8;
    const ranks = new Set(m.source);
    for (const rank of ranks) {
      ctx.fillStyle = plait.rankColour(rank);
      ctx.beginPath();
      for (let i = 0; i < n; i += stride) {
        if (m.source[i] !== rank) continue;
        const px = x(m.since[i]), py = y(received(i));
        ctx.rect(px - radius, py - radius, 2 * radius, 2 * radius);
      }
      ctx.fill();
    }
    ctx.restore();
    ctx.fillStyle = plait.soft; ctx.textAlign = "right"; ctx.textBaseline = "bottom";
    ctx.save(); ctx.translate(x(high * 0.97), y(high * 0.955)); ctx.rotate(-Math.atan2(this.bottom - this.top, this.right - this.left));
    ctx.textBaseline = "top"; ctx.fillText("received the moment it was sent", 0, 4); ctx.restore();
    this.xAxis(ticks, (v) => x(v * scale / q), plait.number, "sent, since the start of its step [" + unit + "]");
    this.spot = (i) => [x(m.since[i]), y(received(i))];
  }
  // In a run without steps: how long each message was under way, on a scale of powers of ten.
  drawDelays(ctx) {
    const m = this.m, n = m.sent.length, q = plait.data.quantum_ns, whole = Math.max(1, plait.data.total_ns / q);
    const delay = (i) => Math.max(1, m.received[i] - m.sent[i]);
    let low = Infinity, high = 1;
    for (let i = 0; i < n; i++) { low = Math.min(low, delay(i)); high = Math.max(high, delay(i)); }
    const from = Math.floor(Math.log10(low * q)), to = Math.max(from + 1, Math.ceil(Math.log10(high * q) - 1e-9));
    const x = (v) => this.left + v / whole * (this.right - this.left);
    const y = (v) => this.bottom - (Math.log10(v * q) - from) / (to - from) * (this.bottom - this.top);
    const powers = Array.from({ length: to - from + 1 }, (_, k) => Math.pow(10, from + k));
    this.yAxis(powers, (v) => y(v / q), plait.time, "from sending to the end of the receive");
    ctx.save();
    ctx.beginPath(); ctx.rect(this.left, this.top, this.right - this.left, this.bottom - this.top); ctx.clip();
    const stride = Math.max(1, Math.ceil(n / 60000)), radius = n > 5000 ? 1.1 : n > 500 ? 1.8 : 3;
    ctx.globalAlpha = n > 20000 ? 0.4 : n > 2000 ? 0.6 : 0.85;
    for (let i = 0; i < n; i += stride) {
      ctx.fillStyle = plait.rankColour(m.source[i]);
      ctx.fillRect(x(m.sent[i]) - radius, y(delay(i)) - radius, 2 * radius, 2 * radius);
    }
    ctx.restore();
    const [scale, unit] = plait.timeUnit(whole * q);
    this.xAxis(plait.ticks(0, whole * q / scale, 8), (v) => x(v * scale / q), plait.number, "sent, since the start of the run [" + unit + "]");
    this.spot = (i) => [x(m.sent[i]), y(delay(i))];
  }
  hover(event) {
    const m = this.m, r = this.element.getBoundingClientRect(), px = event.clientX - r.left, py = event.clientY - r.top;
    let best = -1, least = 60;
    for (let i = 0; i < m.sent.length; i++) {
      const [x, y] = this.spot(i), dx = x - px, dy = y - py, d = dx * dx + dy * dy;
      if (d < least) { least = d; best = i; }
    }
    if (best < 0) return plait.hideTip();
    plait.showTip(event, plait.messageTip(m, best));
  }
};
