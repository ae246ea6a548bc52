// SPDX-License-Identifier: Apache-2.0
// The critical path of one step, drawn over the lanes of the task plot.
"use strict";

plait.drawPath = function (panel, ctx, p, range) {
  const places = panel.layout.places, info = plait.data.path;
  const middle = (i) => { const place = places[p.lane[i]]; return place ? place.y + place.height / 2 : 0; };
  ctx.save();
  ctx.beginPath(); ctx.rect(panel.left, 0, panel.right - panel.left, panel.bottom); ctx.clip();
  let last = null, wait = null;
  const links = [];
  for (let i = range[0]; i < range[1]; i++) {
    if (p.what[i] !== info.run) {
      if (!wait || p.length[i] > wait.length) wait = { what: p.what[i], length: p.length[i] };
      continue;
    }
    if (last !== null) links.push([last, i, wait]);
    last = i; wait = null;
  }
  for (let i = range[0]; i < range[1]; i++) {
    if (p.what[i] !== info.run) continue;
    const place = places[p.lane[i]];
    if (!place) continue;
    const x0 = panel.x(p.start[i]), x1 = panel.x(p.start[i] + p.length[i]), w = Math.max(1.5, x1 - x0);
    const colour = panel.colour(p.kind[i]);
    ctx.fillStyle = panel.fill(ctx, p.kind[i]);
    ctx.fillRect(x0, place.y, w, place.height);
    ctx.strokeStyle = plait.ink; ctx.lineWidth = 1;
    if (w > 3) ctx.strokeRect(x0 + 0.5, place.y + 0.5, w - 1, place.height - 1);
    const name = plait.data.kinds[p.kind[i]].name;
    ctx.textAlign = "left"; ctx.textBaseline = "middle";
    if (ctx.measureText(name).width < w - 8) { ctx.fillStyle = plait.inkOn(colour); ctx.fillText(name, x0 + 4, middle(i) + 0.5); }
  }
  for (const [a, b, between] of links) {
    const transfer = between && (between.what === info.transfer || between.what === info.notice);
    if (!transfer && p.lane[a] === p.lane[b] && !between) continue;
    ctx.strokeStyle = transfer ? info.colour[info.transfer] : plait.ink; ctx.lineWidth = transfer ? 2.5 : 1.4;
    const x0 = panel.x(p.start[a] + p.length[a]), x1 = panel.x(p.start[b]), y0 = middle(a), y1 = middle(b);
    ctx.beginPath(); ctx.moveTo(x0, y0); ctx.lineTo(x1, y1); ctx.stroke();
    if (transfer || p.lane[a] !== p.lane[b]) {
      const angle = Math.atan2(y1 - y0, Math.max(0.1, x1 - x0));
      ctx.fillStyle = ctx.strokeStyle;
      ctx.beginPath(); ctx.moveTo(x1, y1); ctx.lineTo(x1 - 8 * Math.cos(angle - 0.4), y1 - 8 * Math.sin(angle - 0.4));
      ctx.lineTo(x1 - 8 * Math.cos(angle + 0.4), y1 - 8 * Math.sin(angle + 0.4)); ctx.fill();
    }
  }
  // Messages before the first task of the path and after its last have no tasks to stand between.
  const isRun = (i) => p.what[i] === info.run;
  let first = range[0], end = range[1];
  while (first < range[1] && !isRun(first)) first++;
  while (end > first && !isRun(end - 1)) end--;
  for (let i = range[0]; i < range[1]; i++) {
    if (i >= first && i < end || p.what[i] !== info.transfer && p.what[i] !== info.notice) continue;
    ctx.fillStyle = info.colour[p.what[i]];
    ctx.fillRect(panel.x(p.start[i]), middle(i) - 2.5, Math.max(1.5, panel.x(p.start[i] + p.length[i]) - panel.x(p.start[i])), 5);
  }
  ctx.restore();
};

plait.PathFigure = class {
  constructor(figure, bars, path) {
    this.path = path; this.ranges = new Map();
    for (let i = 0; i < path.step.length; i++) {
      const range = this.ranges.get(path.step[i]);
      if (range) range[1] = i + 1; else this.ranges.set(path.step[i], [i, i + 1]);
    }
    this.steps = [...this.ranges.keys()];
    this.view = new plait.View(0, 1);
    this.panel = new plait.LanesPanel(figure, this.view, bars, { fade: true, overlay: (panel, ctx) => plait.drawPath(panel, ctx, path, this.ranges.get(this.step)) });
    this.label = figure.querySelector(".which");
    this.table = figure.querySelector(".path-table");
    this.list = figure.querySelector(".path-list");
    this.sentence = figure.querySelector(".sentence");
    const typical = plait.data.steps.typical, slowest = plait.data.steps.slowest;
    const on = (name, act) => figure.querySelector("[data-act=" + name + "]").addEventListener("click", act);
    on("slowest", () => this.show(slowest));
    on("typical", () => this.show(typical));
    on("before", () => this.move(-1));
    on("after", () => this.move(1));
    this.show(this.ranges.has(typical) ? typical : this.steps[0]);
  }
  move(by) {
    const at = this.steps.indexOf(this.step) + by;
    if (at >= 0 && at < this.steps.length) this.show(this.steps[at]);
  }
  show(step) {
    if (!this.ranges.has(step)) return;
    this.step = step;
    const [from, to] = this.ranges.get(step), p = this.path, q = plait.data.quantum_ns;
    const first = p.start[from], last = p.start[to - 1] + p.length[to - 1], room = (last - first) * 0.015;
    this.view.low = first - room; this.view.high = last + room;
    this.view.reset();
    const totals = new Map();
    for (let i = from; i < to; i++) {
      const name = p.what[i] === plait.data.path.run ? plait.data.kinds[p.kind[i]].name : plait.data.path.what[p.what[i]];
      const colour = p.what[i] === plait.data.path.run ? plait.data.kinds[p.kind[i]].fill : plait.data.path.colour[p.what[i]];
      const row = totals.get(name) || { name, colour, count: 0, time: 0 };
      row.count++; row.time += p.length[i];
      totals.set(name, row);
    }
    const tag = step === plait.data.steps.slowest ? ", the slowest" : step === plait.data.steps.typical ? ", of median length" : "";
    this.label.textContent = "step " + step + tag + ": " + plait.time((last - first) * q);
    this.sentence.textContent = plait.data.path.sentences[step] || "";
    this.fillList(from, to, first);
    const rows = [...totals.values()].sort((a, b) => b.time - a.time);
    this.table.innerHTML = "<caption>This step</caption><thead><tr><th>on the path</th><th>times</th><th>time</th><th>share</th></tr></thead>" + rows.map((r) =>
      "<tr><td><i style='background:" + r.colour + "'></i>" + plait.escape(r.name) + "</td><td>" + r.count + "</td><td>" + plait.time(r.time * q) + "</td><td>" + (100 * r.time / (last - first)).toFixed(1) + " %</td></tr>").join("");
  }
  fillList(from, to, first) {
    const p = this.path, q = plait.data.quantum_ns, info = plait.data.path, shown = Math.min(to, from + 2000);
    let html = "<thead><tr><th>what</th><th>rank</th><th>lane</th><th>from</th><th>to</th><th>time</th></tr></thead>";
    for (let i = from; i < shown; i++) {
      const runs = p.what[i] === info.run, kind = plait.data.kinds[p.kind[i]], lane = plait.data.lanes[p.lane[i]];
      const name = runs ? kind.name : info.what[p.what[i]] + (p.what[i] === info.start ? "" : " (" + kind.name + ")");
      html += "<tr><td><i style='background:" + (runs ? kind.fill : info.colour[p.what[i]]) + "'></i>" + plait.escape(name) + "</td><td>" + (lane ? lane.rank : "") +
        "</td><td>" + (lane ? plait.escape(lane.label || lane.what) : "") + "</td><td>" + plait.time((p.start[i] - first) * q) + "</td><td>" + plait.time((p.start[i] + p.length[i] - first) * q) +
        "</td><td>" + plait.time(p.length[i] * q) + "</td></tr>";
    }
    this.list.innerHTML = html + (shown < to ? "<tr><td>and " + (to - shown) + " more, in critical-path.csv</td></tr>" : "");
  }
};
