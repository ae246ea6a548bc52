// SPDX-License-Identifier: Apache-2.0
// A view is a stretch of time that several panels show together; a panel is a canvas on a view.
"use strict";

plait.View = class {
  constructor(low, high) {
    this.low = low; this.high = high;
    this.t0 = low; this.t1 = high;
    this.panels = []; this.listeners = [];
    this.cursor = null;
  }
  set(t0, t1) {
    const whole = this.high - this.low, least = Math.min(20, whole);
    let length = Math.min(whole, Math.max(least, t1 - t0));
    const middle = (t0 + t1) / 2;
    this.t0 = Math.max(this.low, Math.min(this.high - length, middle - length / 2));
    this.t1 = this.t0 + length;
    this.redraw();
  }
  reset() { this.set(this.low, this.high); }
  zoom(factor, at) {
    const t = at === undefined ? (this.t0 + this.t1) / 2 : at;
    const length = (this.t1 - this.t0) * factor, part = (t - this.t0) / (this.t1 - this.t0);
    if (length >= this.high - this.low) return this.reset();
    this.set(t - part * length, t - part * length + length);
  }
  pan(part) { const d = part * (this.t1 - this.t0); this.set(this.t0 + d, this.t1 + d); }
  // The first time at once, then at most once a frame.
  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    const go = () => {
      this.waiting = false;
      for (const panel of this.panels) if (this.painted && !panel.isNear()) panel.stale = true; else panel.paint();
      this.painted = true;
      for (const listener of this.listeners) listener(this);
    };
    if (this.painted) requestAnimationFrame(go); else go();
  }
};

// Keeps a canvas sharp on any screen; margin is where the axes go.
plait.Canvas = class {
  constructor(figure, height, margin) {
    this.figure = figure;
    this.margin = Object.assign({ left: 118, right: 16, top: 8, bottom: 40 }, margin);
    this.element = document.createElement("canvas");
    this.element.tabIndex = 0;
    this.height = height;
    const holder = document.createElement("div");
    holder.className = "canvas-holder";
    holder.appendChild(this.element);
    figure.querySelector(".plot").appendChild(holder);
    this.ctx = this.element.getContext("2d");
    plait.canvases.push(this);
    this.resize();
    new IntersectionObserver(() => { if (this.stale) this.paint(); }, { rootMargin: "200px" }).observe(this.element);
    new ResizeObserver(() => requestAnimationFrame(() => { if (this.resize()) this.paint(); })).observe(holder);
  }
  resize() {
    const width = Math.max(320, this.element.parentElement.clientWidth);
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    if (width === this.width && ratio === this.ratio) return false;
    this.width = width; this.ratio = ratio;
    this.element.width = Math.round(width * ratio);
    this.element.height = Math.round(this.height * ratio);
    this.element.style.width = width + "px";
    this.element.style.height = this.height + "px";
    return true;
  }
  // For readers that do not see it.
  describe(text) { this.element.setAttribute("role", "img"); this.element.setAttribute("aria-label", text); }
  get left() { return this.margin.left; }
  get right() { return this.width - this.margin.right; }
  get top() { return this.margin.top; }
  get bottom() { return this.height - this.margin.bottom; }
  isNear() {
    const box = this.element.getBoundingClientRect();
    return box.bottom > -200 && box.top < window.innerHeight + 200;
  }
  paint() {
    this.stale = false;
    const ctx = this.ctx;
    ctx.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    ctx.clearRect(0, 0, this.width, this.height);
    ctx.font = plait.font;
    ctx.lineWidth = 1;
    this.draw(ctx);
    this.markDrawn();
  }
  // The figure says it is drawn only when its plot area really holds coloured pixels.
  markDrawn() {
    if (this.figure.dataset.drawn) return;
    const x = Math.round(this.left * this.ratio), y = Math.round(this.top * this.ratio);
    const w = Math.round((this.right - this.left) * this.ratio), h = Math.round((this.bottom - this.top) * this.ratio);
    const pixels = this.ctx.getImageData(x, y, w, h).data;
    for (let i = 0; i < pixels.length; i += 4) {
      if (pixels[i + 3] > 40 && Math.max(pixels[i], pixels[i + 1], pixels[i + 2]) - Math.min(pixels[i], pixels[i + 1], pixels[i + 2]) > 30) {
        this.figure.dataset.drawn = "true";
        return;
      }
    }
  }
  xAxis(ticks, position, label, name) {
    const ctx = this.ctx;
    ctx.strokeStyle = plait.theme.axis; ctx.fillStyle = plait.ink; ctx.textAlign = "center"; ctx.textBaseline = "top";
    ctx.beginPath(); ctx.moveTo(this.left, this.bottom + 0.5); ctx.lineTo(this.right, this.bottom + 0.5); ctx.stroke();
    for (const tick of ticks) {
      const x = Math.round(position(tick)) + 0.5;
      ctx.beginPath(); ctx.moveTo(x, this.bottom); ctx.lineTo(x, this.bottom + 4); ctx.stroke();
      ctx.fillText(label(tick), x, this.bottom + 7);
    }
    ctx.fillStyle = plait.soft;
    ctx.fillText(name, (this.left + this.right) / 2, this.bottom + 22);
  }
  yAxis(ticks, position, label, name) {
    const ctx = this.ctx;
    ctx.textAlign = "right"; ctx.textBaseline = "middle";
    for (const tick of ticks) {
      const y = Math.round(position(tick)) + 0.5;
      ctx.strokeStyle = plait.theme.grid;
      ctx.beginPath(); ctx.moveTo(this.left, y); ctx.lineTo(this.right, y); ctx.stroke();
      ctx.fillStyle = plait.ink;
      ctx.fillText(label(tick), this.left - 8, y);
    }
    ctx.save();
    ctx.translate(14, (this.top + this.bottom) / 2); ctx.rotate(-Math.PI / 2);
    ctx.textAlign = "center"; ctx.fillStyle = plait.soft; ctx.fillText(name, 0, 0);
    ctx.restore();
  }
};
plait.font = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

// A panel whose x axis is the time of a view: wheel, drag, keys, hover.
plait.Panel = class extends plait.Canvas {
  constructor(figure, view, height, margin) {
    super(figure, height, margin);
    this.view = view;
    view.panels.push(this);
    this.listen();
  }
  x(t) { return this.left + (t - this.view.t0) / (this.view.t1 - this.view.t0) * (this.right - this.left); }
  t(x) { return this.view.t0 + (x - this.left) / (this.right - this.left) * (this.view.t1 - this.view.t0); }
  timeAxis() {
    const q = plait.data.quantum_ns, view = this.view;
    const [scale] = plait.timeUnit(Math.max((view.t1 - view.t0) * q * 0.6, 1));
    const name = plait.timeUnit(scale)[1];
    const count = (this.right - this.left) / 110;
    const ticks = plait.ticks(view.t0 * q / scale, view.t1 * q / scale, count);
    const places = ticks.length > 1 ? Math.max(0, -Math.floor(Math.log10(ticks[1] - ticks[0]) + 1e-9)) : 2;
    this.xAxis(ticks, (v) => this.x(v * scale / q), (v) => v.toFixed(Math.min(9, places)), "time since the start of the run [" + name + "]");
  }
  stepLines(from, to) {
    const steps = plait.data.steps, ctx = this.ctx, view = this.view;
    const first = plait.upper(steps.start, view.t0 - 1, 0, steps.start.length);
    const last = plait.upper(steps.start, view.t1, 0, steps.start.length);
    if ((this.right - this.left) / Math.max(1, last - first) < 24) return;
    ctx.strokeStyle = plait.soft; ctx.setLineDash([3, 3]); ctx.globalAlpha = 0.55;
    ctx.beginPath();
    for (let i = first; i < last; i++) { const x = Math.round(this.x(steps.start[i])) + 0.5; ctx.moveTo(x, from); ctx.lineTo(x, to); }
    ctx.stroke(); ctx.setLineDash([]); ctx.globalAlpha = 1;
    if (!this.namesSteps) return;
    ctx.font = plait.font.replace("12px", "11px"); ctx.fillStyle = plait.soft; ctx.textAlign = "left"; ctx.textBaseline = "middle";
    let free = this.left;
    for (let i = first; i < last; i++) {
      const x = this.x(steps.start[i]) + 4, name = "step " + steps.number[i], w = ctx.measureText(name).width;
      if (x < free || x + w > this.right) continue;
      ctx.fillText(name, x, from + 2);
      free = x + w + 8;
    }
    ctx.font = plait.font;
  }
  listen() {
    const e = this.element, view = this.view;
    let drag = null;
    const place = (event) => { const r = e.getBoundingClientRect(); return [event.clientX - r.left, event.clientY - r.top]; };
    e.addEventListener("wheel", (event) => {
      if (!(event.ctrlKey || event.metaKey || document.activeElement === e)) return;
      event.preventDefault();
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) view.pan((event.deltaX || event.deltaY) / 800);
      else view.zoom(Math.pow(1.0016, event.deltaY), this.t(place(event)[0]));
    }, { passive: false });
    e.addEventListener("pointerdown", (event) => {
      e.focus({ preventScroll: true });
      try { e.setPointerCapture(event.pointerId); } catch (error) { /* a synthetic pointer */ }
      const [x] = place(event);
      drag = { x, t0: view.t0, t1: view.t1, select: event.shiftKey };
    });
    e.addEventListener("pointermove", (event) => {
      const [x, y] = place(event);
      if (drag && drag.select) { this.selection = [drag.x, x]; this.paint(); return; }
      if (drag) {
        const d = (drag.x - x) / (this.right - this.left) * (drag.t1 - drag.t0);
        plait.hideTip();
        return view.set(drag.t0 + d, drag.t1 + d);
      }
      this.hover(x, y, event);
    });
    const drop = (event) => {
      if (drag && drag.select && this.selection) {
        const [a, b] = this.selection.map((x) => this.t(x)).sort((p, q) => p - q);
        this.selection = null;
        view.set(a, b);
      }
      drag = null;
    };
    e.addEventListener("pointerup", drop);
    e.addEventListener("pointercancel", drop);
    e.addEventListener("pointerleave", () => plait.hideTip());
    e.addEventListener("dblclick", () => view.reset());
    e.addEventListener("keydown", (event) => {
      const act = { ArrowLeft: () => view.pan(-0.15), a: () => view.pan(-0.15), ArrowRight: () => view.pan(0.15), d: () => view.pan(0.15),
        w: () => view.zoom(0.7), "+": () => view.zoom(0.7), s: () => view.zoom(1.43), "-": () => view.zoom(1.43), "0": () => view.reset() }[event.key];
      if (act && !event.ctrlKey && !event.metaKey) { event.preventDefault(); act(); }
    });
  }
  drawSelection(ctx) {
    if (!this.selection) return;
    const [a, b] = this.selection;
    ctx.fillStyle = "rgba(0, 119, 187, 0.15)";
    ctx.fillRect(Math.min(a, b), this.top, Math.abs(b - a), this.bottom - this.top);
  }
  hover() {}
};

plait.showTip = function (event, html) {
  const tip = document.getElementById("tip");
  tip.innerHTML = html;
  tip.style.display = "block";
  const box = tip.getBoundingClientRect();
  const x = Math.min(event.clientX + 14, window.innerWidth - box.width - 8);
  const y = event.clientY + 18 + box.height > window.innerHeight ? event.clientY - box.height - 10 : event.clientY + 18;
  tip.style.left = x + "px"; tip.style.top = y + "px";
};
plait.hideTip = () => { document.getElementById("tip").style.display = "none"; };
plait.escape = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
