// SPDX-License-Identifier: Apache-2.0
// Heat maps: the matrices of ranks by ranks, and the balance of ranks over time.
"use strict";

// A colour for a share between 0 and 1, from a list of stops.
plait.heat = function (stops, share) {
  const at = Math.max(0, Math.min(1, share)) * (stops.length - 1), i = Math.min(stops.length - 2, Math.floor(at));
  const a = plait.rgb(stops[i]), b = plait.rgb(stops[i + 1]);
  return a.map((v, k) => Math.round(v + (at - i) * (b[k] - v)));
};
plait.stops = (colours) => colours[plait.isDark() ? 1 : 0];

// Cells as an image of one pixel each; share(i) is 0 to 1, or negative for none.
plait.heatImage = function (rows, columns, stops, share) {
  const image = new ImageData(columns, rows), table = Array.from({ length: 257 }, (_, k) => plait.heat(stops, k / 256));
  for (let i = 0; i < rows * columns; i++) {
    const s = share(i);
    if (s < 0) continue;
    const [r, g, b] = table[Math.round(256 * Math.min(1, s))];
    image.data.set([r, g, b, 255], 4 * i);
  }
  const canvas = new OffscreenCanvas(columns, rows);
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
};

plait.rankRange = function (group, each, ranks) {
  const first = Math.round(group * each), last = Math.min(ranks, first + each) - 1;
  return first === last ? "rank " + first : "ranks " + first + " to " + last;
};

// The numbers of groups at which an axis of ranks has labels: those from `first` to before `end`.
plait.rankTicks = function (first, end, pixels, room) {
  const most = Math.max(1, Math.floor(pixels / room)), steps = [1, 2, 4, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128, 200, 256, 500, 512];
  const step = steps.find((s) => (end - first) / s <= most) || end - first, from = Math.ceil(first / step) * step;
  return Array.from({ length: Math.max(0, Math.ceil((end - from) / step)) }, (_, k) => from + k * step);
};

// The square of a matrix that is in view, in groups of ranks; matrices of one run share it.
plait.MatrixView = class {
  constructor(groups) { this.groups = groups; this.panels = []; this.reset(); }
  reset() { this.set(0, 0, this.groups); }
  set(row, column, span) {
    this.span = Math.max(Math.min(4, this.groups), Math.min(this.groups, Math.round(span)));
    const inside = (v) => Math.max(0, Math.min(this.groups - this.span, Math.round(v)));
    this.row = inside(row); this.column = inside(column);
    for (const panel of this.panels) panel.paint();
  }
  zoom(factor, row = this.row + this.span / 2, column = this.column + this.span / 2) {
    const span = Math.max(1, this.span * factor), part = span / this.span;
    this.set(row - (row - this.row) * part, column - (column - this.column) * part, span);
  }
  pan(rows, columns) { this.set(this.row + rows * this.span, this.column + columns * this.span, this.span); }
};

plait.MatrixPanel = class extends plait.Canvas {
  constructor(figure, shown, values, view) {
    super(figure, 400, { left: 52, right: 12, top: 26, bottom: 66 });
    this.shown = shown; this.values = values; this.info = plait.data.matrix; this.view = view;
    this.least = Infinity; this.most = 0;
    for (const v of values) if (v > 0) { this.least = Math.min(this.least, v); this.most = Math.max(this.most, v); }
    this.low = Math.min(this.least, this.most / 10);
    this.format = shown.is_bytes ? plait.bytes : (v) => v.toLocaleString("en");
    this.describe(shown.title + " from each rank to each rank, between " + this.format(this.least) + " and " + this.format(this.most));
    this.element.addEventListener("pointerleave", () => plait.hideTip());
    view.panels.push(this);
    this.listen();
  }
  resize() {
    const width = Math.max(280, this.element.parentElement.clientWidth);
    this.height = Math.min(plait.data.matrix.groups <= 8 ? 340 : 640, width - this.margin.left - this.margin.right) + this.margin.top + this.margin.bottom;
    return super.resize();
  }
  get size() { return Math.min(this.right - this.left, this.bottom - this.top); }
  get cell() { return this.size / this.view.span; }
  // At least a power of ten from pale to dark, so that small differences look small.
  share(v) { return Math.log(v / this.low) / Math.log(this.most / this.low); }
  // Wheel, drag and keys, as in the lanes.
  listen() {
    const e = this.element, view = this.view;
    let drag = null;
    e.addEventListener("wheel", (event) => {
      if (!(event.ctrlKey || event.metaKey || document.activeElement === e)) return;
      event.preventDefault();
      const [row, column] = this.at(event);
      view.zoom(Math.pow(1.002, event.deltaY), row, column);
    }, { passive: false });
    e.addEventListener("pointerdown", (event) => {
      e.focus({ preventScroll: true });
      drag = { x: event.clientX, y: event.clientY, row: view.row, column: view.column };
    });
    e.addEventListener("pointermove", (event) => {
      if (!drag) return this.hover(event);
      view.set(drag.row - (event.clientY - drag.y) / this.cell, drag.column - (event.clientX - drag.x) / this.cell, view.span);
    });
    for (const name of ["pointerup", "pointercancel", "pointerleave"]) e.addEventListener(name, () => { drag = null; });
    e.addEventListener("dblclick", () => view.reset());
    e.addEventListener("keydown", (event) => {
      const act = { ArrowLeft: () => view.pan(0, -0.2), ArrowRight: () => view.pan(0, 0.2), ArrowUp: () => view.pan(-0.2, 0), ArrowDown: () => view.pan(0.2, 0),
        "+": () => view.zoom(0.6), "-": () => view.zoom(1.7), "0": () => view.reset() }[event.key];
      if (act && !event.ctrlKey && !event.metaKey) { event.preventDefault(); act(); }
    });
  }
  // Row and column under the pointer, with fractions.
  at(event) {
    const box = this.element.getBoundingClientRect();
    return [this.view.row + (event.clientY - box.top - this.top) / this.cell, this.view.column + (event.clientX - box.left - this.left) / this.cell];
  }
  // How many groups a drawn block is wide: one, unless they are smaller than a pixel.
  get block() { return Math.max(1, Math.ceil(this.view.span / this.size)); }
  // The largest value in a block.
  largest(row, column) {
    const { groups } = this.info, { view, block } = this, r1 = Math.min(view.row + view.span, row + block), c1 = Math.min(view.column + view.span, column + block);
    let most = 0;
    for (let r = row; r < r1; r++) for (let c = column; c < c1; c++) { const v = this.values[r * groups + c]; if (v > most) most = v; }
    return most;
  }
  draw(ctx) {
    const { each } = this.info, { view, block, cell, size } = this, stops = plait.stops(this.info.colours), n = Math.ceil(view.span / block);
    ctx.font = "600 " + plait.font; ctx.textAlign = "left"; ctx.textBaseline = "middle"; ctx.fillStyle = plait.ink;
    ctx.fillText(this.shown.title, this.left, 11); ctx.font = plait.font;
    ctx.fillStyle = plait.theme.lane; ctx.fillRect(this.left, this.top, size, size);
    const image = plait.heatImage(n, n, stops, (i) => { const v = this.largest(view.row + Math.floor(i / n) * block, view.column + i % n * block); return v > 0 ? this.share(v) : -1; });
    ctx.save(); ctx.beginPath(); ctx.rect(this.left, this.top, size, size); ctx.clip();
    ctx.imageSmoothingEnabled = false; ctx.drawImage(image, this.left, this.top, n * block * cell, n * block * cell); ctx.imageSmoothingEnabled = true; ctx.restore();
    if (cell > 8) this.lines(ctx, view.span, cell);
    if (view.span <= 8) this.numbers(ctx, cell, stops);
    ctx.fillStyle = plait.ink; ctx.textAlign = "right"; ctx.textBaseline = "middle";
    for (const t of plait.rankTicks(view.row, view.row + view.span, size, 22)) ctx.fillText(String(t * each), this.left - 6, this.top + (t - view.row + 0.5) * cell);
    ctx.textAlign = "center"; ctx.textBaseline = "top";
    for (const t of plait.rankTicks(view.column, view.column + view.span, size, 34)) ctx.fillText(String(t * each), this.left + (t - view.column + 0.5) * cell, this.top + size + 5);
    ctx.fillStyle = plait.soft;
    ctx.save(); ctx.translate(12, this.top + size / 2); ctx.rotate(-Math.PI / 2); ctx.textBaseline = "middle"; ctx.fillText("from rank", 0, 0); ctx.restore();
    ctx.textAlign = "left"; ctx.fillText("to rank", this.left, this.top + size + 21);
    this.scale(ctx, stops, size);
  }
  lines(ctx, span, cell) {
    ctx.strokeStyle = plait.theme.paper; ctx.beginPath();
    for (let k = 1; k < span; k++) {
      const at = Math.round(k * cell) + 0.5;
      ctx.moveTo(this.left + at, this.top); ctx.lineTo(this.left + at, this.top + this.size);
      ctx.moveTo(this.left, this.top + at); ctx.lineTo(this.left + this.size, this.top + at);
    }
    ctx.stroke();
  }
  numbers(ctx, cell, stops) {
    const { view } = this, { groups } = this.info;
    ctx.textAlign = "center"; ctx.textBaseline = "middle";
    for (let i = 0; i < view.span * view.span; i++) {
      const row = Math.floor(i / view.span), column = i % view.span, v = this.values[(view.row + row) * groups + view.column + column], text = v > 0 ? this.format(v) : "";
      if (!text || ctx.measureText(text).width > cell - 4) continue;
      const [r, g, b] = plait.heat(stops, this.share(v));
      ctx.fillStyle = 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#1b2430" : "#ffffff";
      ctx.fillText(text, this.left + (column + 0.5) * cell, this.top + (row + 0.5) * cell);
    }
  }
  // The scale of colours is below, at the right, with the middle in powers of ten.
  scale(ctx, stops, size) {
    const width = Math.min(220, size * 0.6), x = this.left + size - width, y = this.top + size + 26;
    for (let k = 0; k < width; k++) { const [r, g, b] = plait.heat(stops, k / width); ctx.fillStyle = "rgb(" + r + "," + g + "," + b + ")"; ctx.fillRect(x + k, y, 1.5, 9); }
    ctx.fillStyle = plait.soft; ctx.textBaseline = "top"; ctx.font = plait.font.replace("12px", "11px");
    ctx.textAlign = "left"; ctx.fillText(this.format(Number(this.low.toPrecision(3))), x, y + 13);
    ctx.textAlign = "center"; ctx.fillText(this.format(Number(Math.sqrt(this.low * this.most).toPrecision(3))), x + width / 2, y + 13);
    ctx.textAlign = "right"; ctx.fillText(this.format(this.most), x + width, y + 13);
    ctx.font = plait.font;
  }
  hover(event) {
    const { each, ranks } = this.info, { view, block } = this, [r, c] = this.at(event);
    const row = view.row + Math.floor((r - view.row) / block) * block, column = view.column + Math.floor((c - view.column) / block) * block;
    if (r < view.row || c < view.column || row >= view.row + view.span || column >= view.column + view.span) return plait.hideTip();
    const v = this.largest(row, column), wide = each * block, range = (group) => plait.rankRange(group / block, wide, ranks);
    const name = block === 1 ? plait.rankRange(row, each, ranks) + " → " + plait.rankRange(column, each, ranks) : range(row) + " → " + range(column);
    plait.showTip(event, "<b>" + name + "</b><br>" + (v > 0 ? (block > 1 ? "at most " : "") + this.format(v) + (this.shown.is_bytes ? "" : " messages") : "nothing"));
  }
};

plait.loadMatrix = async function (shown) {
  const { groups } = plait.data.matrix, values = new Float64Array(groups * groups);
  const cell = await plait.unpackIncreasing("matrix_" + shown.name + "_cell"), low = await plait.unpack("matrix_" + shown.name + "_low");
  const high = await plait.unpack("matrix_" + shown.name + "_high");
  for (let k = 0; k < cell.length; k++) values[cell[k]] = low[k] + (high ? high[k] * 4294967296 : 0);
  return values;
};

// Rows of ranks over time; the rows' colour is the share of waiting.
plait.BalancePanel = class extends plait.Panel {
  constructor(figure, view, shares) {
    const info = plait.data.balance, row = Math.max(2, Math.min(20, Math.floor(360 / info.rows)));
    super(figure, view, row * info.rows + 78, { left: 128, top: 8, bottom: 58 });
    this.info = info; this.shares = shares; this.row = row;
    this.describe("share of time that each rank was " + info.name + ", over time");
  }
  draw(ctx) {
    const { rows, each, edges_ns: edges, colours } = this.info, bins = edges.length - 1, q = plait.data.quantum_ns, stops = plait.stops(colours);
    const height = this.row * rows;
    this.image = this.image || plait.heatImage(rows, bins, stops, (i) => this.shares[i] / 1000);
    ctx.save(); ctx.beginPath(); ctx.rect(this.left, this.top, this.right - this.left, height); ctx.clip();
    ctx.imageSmoothingEnabled = false;
    const x0 = this.x(edges[0] / q), x1 = this.x(edges[bins] / q);
    ctx.drawImage(this.image, x0, this.top, x1 - x0, height);
    ctx.imageSmoothingEnabled = true; ctx.restore();
    ctx.fillStyle = plait.ink; ctx.textAlign = "right"; ctx.textBaseline = "middle";
    for (const t of plait.rankTicks(0, rows, height, 14)) ctx.fillText("rank " + this.info.ranks[t * each], this.left - 8, this.top + (t + 0.5) * this.row);
    this.timeAxis();
    const width = 120, x = this.right - width - 36, y = this.bottom + 46; // below the axis, whose words may be long
    for (let k = 0; k < width; k++) { const [r, g, b] = plait.heat(stops, k / width); ctx.fillStyle = "rgb(" + r + "," + g + "," + b + ")"; ctx.fillRect(x + k, y, 1.5, 8); }
    ctx.fillStyle = plait.soft; ctx.textBaseline = "middle"; ctx.textAlign = "right"; ctx.fillText("0 %", x - 6, y + 4);
    ctx.textAlign = "left"; ctx.fillText("100 %", x + width + 4, y + 4);
    ctx.textAlign = "right"; ctx.fillText("time " + this.info.name, x - 34, y + 4);
    this.drawSelection(ctx);
  }
  hover(px, py, event) {
    const { rows, each, edges_ns: edges, ranks } = this.info, t = this.t(px) * plait.data.quantum_ns;
    const row = Math.floor((py - this.top) / this.row), bin = plait.upper(edges, t, 0, edges.length) - 1;
    if (row < 0 || row >= rows || bin < 0 || bin >= edges.length - 1) return plait.hideTip();
    const last = Math.min(ranks.length, (row + 1) * each) - 1;
    const who = each === 1 ? "rank " + ranks[row] : "ranks " + ranks[row * each] + " to " + ranks[last];
    plait.showTip(event, "<b>" + who + "</b><table><tr><td>" + this.info.name + "</td><td>" + (this.shares[row * (edges.length - 1) + bin] / 10).toFixed(1) + " %</td></tr><tr><td>from</td><td>" +
      plait.time(edges[bin]) + "</td></tr><tr><td>to</td><td>" + plait.time(edges[bin + 1]) + "</td></tr></table>");
  }
};

plait.ImbalancePanel = class extends plait.Panel {
  constructor(figure, view) {
    super(figure, view, 150, { left: 128, top: 14 });
    this.info = plait.data.balance;
    this.describe("imbalance of computing over time");
  }
  draw(ctx) {
    // Cut where hardly anybody computes at all; the hover text has the number.
    const { edges_ns: edges, imbalance } = this.info, q = plait.data.quantum_ns, most = Math.min(4, Math.max(0.05, ...imbalance) * 1.1);
    const y = (v) => this.bottom - v / most * (this.bottom - this.top);
    this.yAxis(plait.ticks(0, 100 * most, 3), (v) => y(v / 100), (v) => plait.number(v) + " %", "most over mean");
    ctx.save(); ctx.beginPath(); ctx.rect(this.left, this.top, this.right - this.left, this.bottom - this.top); ctx.clip();
    ctx.fillStyle = "#D55E00"; ctx.globalAlpha = 0.75;
    imbalance.forEach((v, i) => { const x = this.x(edges[i] / q), w = this.x(edges[i + 1] / q) - x; ctx.fillRect(x, y(v), Math.max(1, w - 0.6), this.bottom - y(v)); });
    ctx.globalAlpha = 1; ctx.fillStyle = "#0077BB";
    for (const time of this.info.balancings_ns) ctx.fillRect(this.x(time / q) - 0.75, this.top, 1.5, this.bottom - this.top);
    ctx.restore();
    this.timeAxis();
    this.drawSelection(ctx);
  }
  hover(px, py, event) {
    const { edges_ns: edges, imbalance } = this.info, bin = plait.upper(edges, this.t(px) * plait.data.quantum_ns, 0, edges.length) - 1;
    if (bin < 0 || bin >= imbalance.length) return plait.hideTip();
    plait.showTip(event, "<b>" + (100 * imbalance[bin]).toFixed(1) + " % more than the mean</b><br>from " + plait.time(edges[bin]) + " to " + plait.time(edges[bin + 1]));
  }
};

plait.drawTraffic = async function (view) {
  if (plait.data.matrix) {
    const shared = new plait.MatrixView(plait.data.matrix.groups);
    for (const shown of plait.data.matrix.shown) {
      const values = await plait.loadMatrix(shown);
      plait.attempt("matrix", (figure) => { const panel = new plait.MatrixPanel(figure, shown, values, shared); panel.paint(); return panel; });
    }
  }
  if (!plait.data.balance) return;
  const shares = await plait.unpack("balance_share");
  plait.attempt("balance", (figure) => {
    const whole = new plait.View(view.low, view.high);
    new plait.BalancePanel(figure, whole, shares);
    if (Math.max(...plait.data.balance.imbalance) > 0.001) new plait.ImbalancePanel(figure, whole);
    whole.redraw();
  });
};
