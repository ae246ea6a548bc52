// SPDX-License-Identifier: Apache-2.0
// Poll gaps as a histogram, and counters over time.
"use strict";

plait.HistogramPanel = class extends plait.Canvas {
  constructor(figure, gaps) {
    super(figure, 280, { left: 84, top: 14, right: 40, bottom: 46 });
    this.gaps = gaps;
    this.describe("time in poll gaps, by their length");
    this.element.addEventListener("pointermove", (event) => this.hover(event));
    this.element.addEventListener("pointerleave", () => plait.hideTip());
  }
  draw(ctx) {
    const { edges_ns: edges, time_ns: times } = this.gaps;
    const low = Math.log10(edges[0]), high = Math.log10(edges[edges.length - 1]), most = Math.max(...times) * 1.08;
    const x = (v) => this.left + (Math.log10(v) - low) / (high - low) * (this.right - this.left);
    const y = (v) => this.bottom - v / most * (this.bottom - this.top);
    const [scale, unit] = plait.timeUnit(most);
    this.x = x;
    this.yAxis(plait.ticks(0, most / scale, 5), (v) => y(v * scale), plait.number, "time in gaps of this length [" + unit + "]");
    ctx.fillStyle = "#AA3377";
    times.forEach((time, i) => {
      const a = x(edges[i]), b = x(edges[i + 1]);
      ctx.fillRect(a + 1, y(time), Math.max(1, b - a - 2), this.bottom - y(time));
    });
    const ticks = [];
    const parts = high - low < 3.5 ? [1, 2, 5] : [1];
    for (let e = Math.floor(low); e <= high + 1e-6; e++) for (const m of parts) ticks.push(m * Math.pow(10, e));
    const shown = ticks.filter((t) => t >= edges[0] * 0.999 && t <= edges[edges.length - 1] * 1.001);
    this.xAxis(shown, x, plait.time, "length of a gap");
  }
  hover(event) {
    const px = event.clientX - this.element.getBoundingClientRect().left, e = this.gaps.edges_ns;
    const i = e.findIndex((_, k) => k + 1 < e.length && px >= this.x(e[k]) && px < this.x(e[k + 1]));
    if (i < 0) return plait.hideTip();
    plait.showTip(event, "<b>" + plait.time(e[i]) + " to " + plait.time(e[i + 1]) + "</b><table><tr><td>gaps</td><td>" + this.gaps.count[i] +
      "</td></tr><tr><td>in all</td><td>" + plait.time(this.gaps.time_ns[i]) + "</td></tr></table>");
  }
};

plait.CounterPanel = class extends plait.Panel {
  constructor(figure, view, counter) {
    super(figure, view, 220, { left: 128, top: 14 });
    this.counter = counter;
    this.describe(counter.name + " over time, a curve for each rank");
  }
  draw(ctx) {
    const q = plait.data.quantum_ns;
    let low = Infinity, high = -Infinity;
    for (const line of this.counter.lines) for (const v of line.value) { if (v < low) low = v; if (v > high) high = v; }
    if (low === high) { const d = Math.abs(low) * 0.1 || 1; low -= d; high += d; }
    const room = (high - low) * 0.06;
    low -= room; high += room;
    const y = (v) => this.bottom - (v - low) / (high - low) * (this.bottom - this.top);
    this.yAxis(plait.ticks(low, high, 5), y, plait.number, "value");
    ctx.save();
    ctx.beginPath(); ctx.rect(this.left, 0, this.right - this.left, this.bottom); ctx.clip();
    for (const line of this.counter.lines) {
      ctx.strokeStyle = ctx.fillStyle = plait.rankColour(line.rank); ctx.lineWidth = 1.5; ctx.setLineDash(plait.rankDash(line.rank));
      ctx.beginPath();
      line.time_ns.forEach((t, i) => { const x = this.x(t / q); i ? ctx.lineTo(x, y(line.value[i])) : ctx.moveTo(x, y(line.value[i])); });
      ctx.stroke(); ctx.lineWidth = 1; ctx.setLineDash([]);
      if (line.time_ns.length < 150) for (let i = 0; i < line.time_ns.length; i++) { ctx.beginPath(); ctx.arc(this.x(line.time_ns[i] / q), y(line.value[i]), 2.4, 0, 7); ctx.fill(); }
    }
    ctx.restore();
    this.timeAxis();
    this.drawSelection(ctx);
  }
  hover(px, py, event) {
    const q = plait.data.quantum_ns, t = this.t(px) * q, rows = [];
    for (const line of this.counter.lines) {
      const i = Math.min(line.value.length - 1, plait.upper(line.time_ns, t, 0, line.time_ns.length));
      const k = i > 0 && t - line.time_ns[i - 1] < line.time_ns[i] - t ? i - 1 : i;
      rows.push("<tr><td><i style='background:" + plait.rankColour(line.rank) + "'></i>rank " + line.rank + "</td><td>" + line.value[k].toPrecision(6) + "</td></tr>");
    }
    plait.showTip(event, "<b>" + plait.escape(this.counter.name) + "</b><br>at " + plait.time(t) + "<table>" + rows.join("") + "</table>");
  }
};
