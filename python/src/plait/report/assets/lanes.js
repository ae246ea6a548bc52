// SPDX-License-Identifier: Apache-2.0
// The lanes of workers, threads and messages. Where bars are narrower than a pixel, each pixel column shows the shares of its time
// by kind, stacked; what stays bare is idle, or in lanes of calls the program's own computing.
"use strict";

// Patterns over colours, as plots/marks.py has them: whether a pixel belongs to a pattern's lines.
plait.isLine = (pattern, x, y) => pattern > 0 && (pattern === 1 ? x + y : pattern === 2 ? y : x) % 6 < 2;
plait.patternOf = function (ctx, kind) {
  if (!kind.tile) {
    const tile = new OffscreenCanvas(12, 12), to = tile.getContext("2d");
    to.fillStyle = kind.colour; to.fillRect(0, 0, 12, 12);
    to.fillStyle = kind.line;
    for (let y = 0; y < 12; y++) for (let x = 0; x < 12; x++) if (plait.isLine(kind.pattern, x, y)) to.fillRect(x, y, 1, 1);
    kind.tile = tile;
  }
  return ctx.createPattern(kind.tile, "repeat");
};

plait.HEIGHTS = { worker: 26, calls: 24, spans: 9, gaps: 7, messages: 5, background: 5 };
plait.OVERVIEW = { worker: true, calls: true };
// With this many lanes of workers and calls, lanes are drawn lower.
plait.laneScale = (count) => count > 160 ? 0.16 : count > 64 ? 0.35 : count > 24 ? 0.6 : 1;

// The ranks of a lane, in words: one, or a group whose mean the lane shows.
plait.ranksOf = (lane) => lane.last === null ? "rank " + lane.rank : lane.last === lane.rank ? "rank " + lane.rank + " (mean)" : "ranks " + lane.rank + " to " + lane.last;

// Ranks of one lane of calls each have no headings: these lanes bear the rank's number. Groups have none.
plait.layoutLanes = function (lanes, top, scale) {
  let y = top, rank = null, grouped = false;
  const places = [], headings = [];
  const thin = (what) => what === "messages" || what === "background";
  const plain = lanes.length > 1 && lanes.every((lane, i) => (lane.what === "calls" || lane.what === "background") && (lane.what === "calls") === (i === 0 || lanes[i - 1].rank !== lane.rank || lane.last !== null));
  const room = Math.min(3, Math.max(1, Math.round(4 * scale)));
  for (const lane of lanes) {
    if (lane.last !== null && !grouped) {
      y += 6;
      headings.push({ text: "Means of groups", y });
      y += 18;
      grouped = true;
    }
    if (lane.last === null && lane.rank !== rank && !plain) {
      if (rank !== null) y += 12 * Math.min(1, scale * 1.5);
      headings.push({ text: "Rank " + lane.rank, y });
      y += 18;
    }
    rank = lane.rank;
    const last = places[places.length - 1];
    const tight = last && thin(lane.what) && last.lane.what === lane.what && last.lane.rank === lane.rank;
    if (tight) y -= room - 1;
    const height = Math.max(3, Math.round(plait.HEIGHTS[lane.what] * scale));
    places.push({ lane, y, height, label: lane.last !== null || plain && lane.what === "calls" ? plait.ranksOf(lane) : plain ? "" : lane.label });
    y += height + room;
  }
  return { places, headings, bottom: y };
};

plait.LanesPanel = class extends plait.Panel {
  constructor(figure, view, bars, options) {
    const lanes = plait.data.lanes;
    const layout = plait.layoutLanes(lanes, 16, plait.laneScale(lanes.filter((lane) => plait.OVERVIEW[lane.what]).length));
    super(figure, view, layout.bottom + 44, { left: 128, top: 8 });
    this.namesSteps = true;
    this.bars = bars; this.layout = layout;
    this.options = Object.assign({ fade: false, overlay: null, messages: null }, options);
    this.highlight = null;
    this.describe(lanes.length + " lanes over time; the tables of the page have the sums of what is in them. Keys: + and - zoom, arrows move, 0 shows all");
  }
  draw(ctx) {
    const { places, headings } = this.layout;
    const width = this.right - this.left;
    ctx.fillStyle = plait.theme.lane;
    for (const place of places) if (place.lane.what === "worker") ctx.fillRect(this.left, place.y, width, place.height);
    ctx.fillStyle = plait.theme.computing;
    for (const place of places) if (place.lane.what === "calls") this.drawComputing(ctx, place);
    for (const place of places) this.drawLane(ctx, place);
    this.drawLabels(ctx, places, headings);
    this.stepLines(this.top, this.bottom);
    this.timeAxis();
    if (this.options.overlay) this.options.overlay(this, ctx);
    if (this.options.messages) plait.drawArrows(this, ctx, this.options.messages);
    this.drawSelection(ctx);
  }
  drawLabels(ctx, places, headings) {
    ctx.textBaseline = "middle";
    for (const heading of headings) {
      ctx.font = "600 " + plait.font; ctx.textAlign = "right"; ctx.fillStyle = plait.ink;
      ctx.fillText(heading.text, this.left - 8, heading.y + 8);
    }
    ctx.font = plait.font; ctx.textAlign = "right";
    let free = -Infinity;
    for (const place of places) {
      if (!place.label || (place.height < 9 && place.lane.what === "worker")) continue;
      if (place.lane.what === "calls") {
        if (place.y + place.height / 2 < free) continue;
        free = place.y + place.height / 2 + 12;
      }
      const small = place.height < 12;
      const isRow = place.lane.what === "messages" || place.lane.what === "background";
      ctx.font = small ? plait.font.replace("12px", "10px") : plait.font;
      const y = isRow ? place.y + place.height : place.y + place.height / 2;
      if (place.lane.what === "worker" && place.lane.idle !== null) {
        ctx.fillStyle = plait.ink; ctx.fillText(place.label, this.left - 8, y - (small ? 0 : 6));
        ctx.fillStyle = plait.soft;
        if (!small) { ctx.font = plait.font.replace("12px", "11px"); ctx.fillText((100 * place.lane.idle).toFixed(1) + " % idle", this.left - 8, y + 7); }
      } else { ctx.fillStyle = plait.soft; ctx.fillText(place.label, this.left - 8, y); }
    }
    ctx.font = plait.font;
  }
  // From the first call to the end of the last.
  drawComputing(ctx, place) {
    const b = this.bars, { first, count } = place.lane;
    if (!count) return;
    const x0 = Math.max(this.left, this.x(b.start[first])), x1 = Math.min(this.right, this.x(b.reached[first + count - 1]));
    if (x1 > x0) ctx.fillRect(x0, place.y, x1 - x0, place.height);
  }
  visible(lane) {
    const b = this.bars, end = lane.first + lane.count;
    const from = plait.upper(b.reached, this.view.t0, lane.first, end);
    return [from, Math.max(from, plait.upper(b.start, this.view.t1, from, end))];
  }
  drawLane(ctx, place) {
    const [from, to] = this.visible(place.lane);
    if (from >= to) return;
    const b = this.bars, kinds = plait.data.kinds, view = this.view;
    const width = Math.round(this.right - this.left), scale = width / (view.t1 - view.t0);
    const many = to - from > width;
    let shares = null, K = kinds.length;
    if (many) { shares = new Float32Array(width * K); }
    const large = [];
    for (let i = from; i < to; i++) {
      const pixels = b.length[i] * scale;
      if (!many || pixels >= 1.5) { large.push(i); continue; }
      const x = (b.start[i] - view.t0) * scale, column = x | 0, kind = b.kind[i];
      if (x < 0 || column >= width) continue;
      const over = x + pixels - (column + 1);
      if (over > 0 && column + 1 < width) { shares[column * K + kind] += pixels - over; shares[(column + 1) * K + kind] += over; }
      else shares[column * K + kind] += pixels;
    }
    if (this.options.fade) ctx.globalAlpha = 0.28;
    if (many) this.drawShares(ctx, place, shares, width);
    this.drawBars(ctx, place, large);
    ctx.globalAlpha = 1;
  }
  // Columns of one pixel each, kinds stacked from the lane's bottom in a fixed order.
  drawShares(ctx, place, shares, width) {
    const K = plait.data.kinds.length, H = 2 * place.height;
    const image = new ImageData(width, H), pixels = new Uint32Array(image.data.buffer);
    const packed = (hex) => { const [r, g, b] = plait.rgb(hex); return (255 << 24 | b << 16 | g << 8 | r) >>> 0; };
    const colours = Uint32Array.from({ length: K }, (_, k) => packed(this.colour(k))), lines = Uint32Array.from({ length: K }, (_, k) => packed(this.isFaded(k) ? this.colour(k) : plait.data.kinds[k].line));
    for (let x = 0; x < width; x++) {
      let sum = 0, y = H;
      for (let k = 0; k < K && y > 0; k++) {
        const share = shares[x * K + k];
        if (share <= 0) continue;
        sum += share;
        const top = Math.max(0, Math.round(H * (1 - sum)));
        const pattern = plait.data.kinds[k].pattern;
        for (let row = top; row < y; row++) pixels[row * width + x] = plait.isLine(pattern, x, row) ? lines[k] : colours[k];
        y = Math.min(y, top);
      }
    }
    const canvas = new OffscreenCanvas(width, H);
    canvas.getContext("2d").putImageData(image, 0, 0);
    ctx.drawImage(canvas, this.left, place.y, width, place.height);
  }
  isFaded(kind) { return this.highlight !== null && this.highlight !== kind; }
  colour(kind) {
    const found = plait.data.kinds[kind];
    return this.isFaded(kind) ? plait.theme.faded : found ? found.colour : "#777777";
  }
  // What bars of a kind are filled with: the colour, or the pattern over it.
  fill(ctx, kind) {
    const found = plait.data.kinds[kind];
    return !found || !found.pattern || this.isFaded(kind) ? this.colour(kind) : plait.patternOf(ctx, found);
  }
  drawBars(ctx, place, list) {
    const b = this.bars, kinds = plait.data.kinds;
    const labels = [];
    let kind = null;
    for (const i of list) {
      const x0 = Math.max(this.left, this.x(b.start[i])), x1 = Math.min(this.right, this.x(b.start[i] + b.length[i]));
      if (b.kind[i] !== kind) { kind = b.kind[i]; ctx.fillStyle = this.fill(ctx, kind); }
      const w = Math.max(0.6, x1 - x0);
      ctx.fillRect(x0, place.y, w > 5 ? w - 0.7 : w, place.height);
      if (w > 44 && place.height >= 9) labels.push([i, x0, w]);
    }
    if (this.options.fade) return;
    ctx.textAlign = "left"; ctx.textBaseline = "middle";
    if (place.height < 14) ctx.font = plait.font.replace("12px", "8.5px");
    for (const [i, x0, w] of labels) {
      const name = kinds[b.kind[i]].name;
      if (ctx.measureText(name).width > w - 8) continue;
      const drawn = plait.data.kinds[b.kind[i]];
      if (drawn.pattern) { ctx.fillStyle = this.colour(b.kind[i]); ctx.fillRect(x0 + 2, place.y + 1, ctx.measureText(name).width + 4, place.height - 2); }
      ctx.fillStyle = plait.inkOn(this.colour(b.kind[i]));
      ctx.fillText(name, x0 + 4, place.y + place.height / 2 + 0.5);
    }
    ctx.font = plait.font;
  }
  find(x, y) {
    if (x < this.left || x > this.right) return null;
    const place = this.layout.places.find((p) => y >= p.y - 1 && y <= p.y + p.height + 1);
    if (!place) return null;
    const b = this.bars, t = this.t(x), slack = 2 * (this.view.t1 - this.view.t0) / (this.right - this.left);
    const [from, to] = this.visible(place.lane);
    let best = -1;
    for (let i = plait.upper(b.start, t + slack, from, to) - 1, tries = 0; i >= from && tries < 200; i--, tries++) {
      if (b.start[i] + b.length[i] >= t - slack && (best < 0 || (b.start[best] > t || b.start[best] + b.length[best] < t) && b.start[i] <= t && b.start[i] + b.length[i] >= t)) best = i;
      if (best >= 0 && b.start[best] <= t && b.start[best] + b.length[best] >= t) break;
    }
    return best < 0 ? { place } : { place, bar: best };
  }
  hover(x, y, event) {
    const arrow = this.arrows ? plait.nearArrow(this.arrows, x, y) : null;
    if (arrow !== null) return plait.showTip(event, plait.messageTip(this.options.messages, arrow));
    const found = this.find(x, y);
    if (!found) return plait.hideTip();
    const { lane } = found.place, b = this.bars;
    const name = { spans: "spans", gaps: "network", messages: "messages", background: "in the background" }[lane.what];
    const who = plait.ranksOf(lane) + (lane.last !== null ? ", mean" : lane.what === "calls" && lane.label === "calls" ? "" : ", " + (name || lane.label));
    if (found.bar === undefined) {
      if (lane.what === "calls") {
        const t = this.t(x), inside = lane.count && t > b.start[lane.first] && t < b.reached[lane.first + lane.count - 1];
        return inside ? plait.showTip(event, "<b>computing</b> (in no call)<br>" + who) : plait.hideTip();
      }
      return lane.what === "worker" ? plait.showTip(event, "<b>idle</b><br>" + who) : plait.hideTip();
    }
    const i = found.bar, kind = plait.data.kinds[b.kind[i]];
    plait.showTip(event, "<b><i style='background:" + kind.fill + "'></i>" + plait.escape(kind.name) + "</b><br>" + who +
      "<table>" + this.facts(lane, i).map(([k, v]) => "<tr><td>" + k + "</td><td>" + plait.escape(v) + "</td></tr>").join("") + "</table>");
  }
  // What the hover text tells of bar i.
  facts(lane, i) {
    const b = this.bars, q = plait.data.quantum_ns, rows = [["took", plait.time(b.length[i] * q)], ["from", plait.time(b.start[i] * q)]];
    if (b.step[i] >= 0 && lane.what !== "gaps") rows.push(["step", b.step[i]]);
    if (b.ready && lane.what === "worker") rows.push(["was ready for", plait.time(b.ready[i] * q)]);
    const number = (name) => b[name] ? b[name][i] + (b[name + "_high"] ? b[name + "_high"][i] * 4294967296 : 0) : 0;
    const given = number("bytes_given"), got = number("bytes_got");
    if (b.kind[i] >= plait.data.first_function - 2) {
      if (b.site && b.site[i]) rows.push(["called in", plait.data.sites[b.site[i] - 1]]);
      if (b.peer && b.peer[i]) rows.push(["peer", "rank " + (b.peer[i] - 1)]);
      if (given) rows.push(["gives", plait.bytes(given)]);
      if (got) rows.push(["gets", plait.bytes(got)]);
    } else if (b.low && lane.what === "messages") rows.push(["peer", "rank " + b.high[i]], ["sequence number", b.low[i]]);
    else if (b.low && lane.what === "worker") rows.push(["object", b.high[i] ? "0x" + (BigInt(b.high[i]) * 4294967296n + BigInt(b.low[i])).toString(16) : b.low[i]]);
    return rows;
  }
};

// The whole run in one strip, all workers together, with the stretch in view marked: drag it along.
plait.OverviewPanel = class extends plait.Canvas {
  constructor(figure, view, bars) {
    super(figure, 54, { left: 128, top: 4, bottom: 6 });
    this.view = view; this.bars = bars;
    this.describe("the whole run in one strip; the part that the lanes show is marked");
    view.listeners.push(() => this.paint());
    const at = (event) => {
      const x = event.clientX - this.element.getBoundingClientRect().left;
      return view.low + (x - this.left) / (this.right - this.left) * (view.high - view.low);
    };
    let held = false;
    const move = (event) => { const half = (view.t1 - view.t0) / 2; view.set(at(event) - half, at(event) + half); };
    this.element.style.cursor = "grab";
    this.element.addEventListener("pointerdown", (event) => { held = true; try { this.element.setPointerCapture(event.pointerId); } catch (error) { /* a synthetic pointer */ } move(event); });
    this.element.addEventListener("pointermove", (event) => { if (held) move(event); });
    this.element.addEventListener("pointerup", () => { held = false; });
  }
  shares(width) {
    const b = this.bars, kinds = plait.data.kinds.length, view = this.view, scale = width / (view.high - view.low);
    const shares = new Float32Array(width * kinds);
    const lanes = plait.data.lanes.filter((lane) => plait.OVERVIEW[lane.what]);
    for (const lane of lanes) {
      for (let i = lane.first; i < lane.first + lane.count; i++) {
        const x0 = (b.start[i] - view.low) * scale, x1 = x0 + b.length[i] * scale;
        for (let c = Math.max(0, x0 | 0); c < width && c < x1; c++) shares[c * kinds + b.kind[i]] += (Math.min(x1, c + 1) - Math.max(x0, c)) / lanes.length;
      }
    }
    return shares;
  }
  draw(ctx) {
    const width = Math.round(this.right - this.left), h = this.bottom - this.top, K = plait.data.kinds.length;
    if (!this.image || this.image.width !== width) {
      // Drawn once for each width, then only copied.
      const shares = this.shares(width);
      this.image = new OffscreenCanvas(width, h);
      const to = this.image.getContext("2d");
      to.fillStyle = plait.data.lanes.some((lane) => lane.what === "calls") ? plait.theme.computing : plait.theme.lane; to.fillRect(0, 0, width, h);
      for (let x = 0; x < width; x++) {
        let below = 0;
        for (let k = 0; k < K; k++) {
          const part = shares[x * K + k];
          if (part <= 0) continue;
          to.fillStyle = plait.data.kinds[k].colour;
          to.fillRect(x, h - Math.min(1, below + part) * h, 1, part * h);
          below += part;
        }
      }
    }
    ctx.drawImage(this.image, this.left, this.top);
    ctx.textAlign = "right"; ctx.textBaseline = "middle"; ctx.fillStyle = plait.ink;
    ctx.fillText("whole run,", this.left - 8, this.top + h / 2 - 7);
    ctx.fillText(plait.data.lanes.some((lane) => lane.what === "worker") ? "all workers" : "all ranks", this.left - 8, this.top + h / 2 + 7);
    const view = this.view, x = (t) => this.left + (t - view.low) / (view.high - view.low) * width;
    const a = x(view.t0), b = Math.max(x(view.t1), a + 3);
    ctx.fillStyle = plait.theme.veil;
    ctx.fillRect(this.left, this.top, a - this.left, h); ctx.fillRect(b, this.top, this.left + width - b, h);
    ctx.strokeStyle = plait.theme.accent; ctx.lineWidth = 2; ctx.strokeRect(a, this.top - 1, b - a, h + 2); ctx.lineWidth = 1;
  }
};
