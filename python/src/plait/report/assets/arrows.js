// SPDX-License-Identifier: Apache-2.0
// Messages as arrows over the lanes, from where they were sent to where they were received, as long as
// they can be told apart.
"use strict";

plait.ARROWS_MAX = 240;

// The lane at which a rank's messages begin and end: its first of calls, else of messages, else of workers.
plait.lanesOfRanks = function (places) {
  const found = new Map(), order = { calls: 3, messages: 2, worker: 1 };
  for (const place of places) {
    const weight = place.lane.last === null && order[place.lane.what] || 0, known = found.get(place.lane.rank);
    if (weight && (!known || weight > known.weight)) found.set(place.lane.rank, { weight, y: place.y + place.height / 2 });
  }
  return found;
};

plait.drawArrows = function (panel, ctx, m) {
  panel.arrows = [];
  const { view } = panel, from = plait.upper(m.reached, view.t0, 0, m.sent.length), to = plait.upper(m.sent, view.t1, from, m.sent.length);
  if (to - from > 20 * plait.ARROWS_MAX) return plait.tellArrows(panel, ctx);
  const at = panel.at || (panel.at = plait.lanesOfRanks(panel.layout.places));
  for (let i = from; i < to; i++) {
    if (m.received[i] < view.t0) continue;
    const a = at.get(m.source[i]), b = at.get(m.destination[i]);
    if (!a || !b || a === b) continue;
    if (panel.arrows.length >= plait.ARROWS_MAX) { panel.arrows = []; return plait.tellArrows(panel, ctx); }
    panel.arrows.push({ i, x0: panel.x(m.sent[i]), y0: a.y, x1: panel.x(m.received[i]), y1: b.y });
  }
  ctx.save();
  ctx.beginPath(); ctx.rect(panel.left, 0, panel.right - panel.left, panel.bottom); ctx.clip();
  ctx.strokeStyle = ctx.fillStyle = plait.ink; ctx.lineWidth = 1;
  ctx.globalAlpha = panel.arrows.length > 120 ? 0.4 : panel.arrows.length > 40 ? 0.6 : 0.8;
  ctx.beginPath();
  for (const { x0, y0, x1, y1 } of panel.arrows) { ctx.moveTo(x0, y0); ctx.lineTo(x1, y1); }
  ctx.stroke();
  const size = panel.arrows.length > 120 ? 5 : 7;
  for (const { x0, y0, x1, y1 } of panel.arrows) {
    const angle = Math.atan2(y1 - y0, x1 - x0);
    ctx.beginPath(); ctx.moveTo(x1, y1);
    ctx.lineTo(x1 - size * Math.cos(angle - 0.4), y1 - size * Math.sin(angle - 0.4));
    ctx.lineTo(x1 - size * Math.cos(angle + 0.4), y1 - size * Math.sin(angle + 0.4)); ctx.fill();
  }
  ctx.restore();
};

plait.tellArrows = function (panel, ctx) {
  ctx.font = plait.font.replace("12px", "11px"); ctx.textAlign = "right"; ctx.textBaseline = "top"; ctx.fillStyle = plait.soft;
  ctx.fillText("zoom in to see messages as arrows", panel.right, panel.bottom + 22);
  ctx.font = plait.font;
};

// The message whose arrow passes within 4 pixels, or null.
plait.nearArrow = function (arrows, x, y) {
  let best = null, least = 16;
  for (const { i, x0, y0, x1, y1 } of arrows) {
    const dx = x1 - x0, dy = y1 - y0, along = Math.max(0, Math.min(1, ((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy || 1)));
    const ex = x0 + along * dx - x, ey = y0 + along * dy - y, d = ex * ex + ey * ey;
    if (d < least) { least = d; best = i; }
  }
  return best;
};

plait.messageTip = function (m, i) {
  const q = plait.data.quantum_ns, rows = [["size", plait.bytes(m.bytes[i])], ["under way", plait.time((m.received[i] - m.sent[i]) * q)],
    ["sent at", plait.time(m.sent[i] * q)], ["received at", plait.time(m.received[i] * q)]];
  if (m.begun[i] > 0) rows.push(["receive posted", plait.time(m.begun[i] * q) + " after the send"]);
  return "<b>message, rank " + m.source[i] + " → rank " + m.destination[i] + "</b><table>" + rows.map(([k, v]) => "<tr><td>" + k + "</td><td>" + v + "</td></tr>").join("") + "</table>";
};
