// SPDX-License-Identifier: Apache-2.0
// Puts the page together: each figure on its own, so that one that fails does not take the rest with it.
"use strict";

// Columns are inflated side by side.
plait.loadBars = async function () {
  const plain = ["kind", "length", "ready", "site", "peer", "bytes_given", "bytes_got", "bytes_given_high", "bytes_got_high"];
  const [start, step, low, high, ...rest] = await Promise.all([plait.unpackIncreasing("bar_start"), plait.unpackIncreasing("bar_step"),
    plait.unpack("bar_object_low"), plait.unpack("bar_object_high"), ...plain.map((name) => plait.unpack("bar_" + name))]);
  const bars = { start, step: Int32Array.from(step), low, high };
  plain.forEach((name, i) => { bars[name] = rest[i]; });
  // The latest end so far in each lane: rises, so what is in view is found by bisection.
  bars.reached = new Float64Array(bars.start.length);
  for (const lane of plait.data.lanes) {
    let reached = -Infinity;
    for (let i = lane.first; i < lane.first + lane.count; i++) {
      reached = Math.max(reached, bars.start[i] + bars.length[i]);
      bars.reached[i] = reached;
    }
  }
  return bars;
};

plait.loadMessages = async function () {
  const sent = await plait.unpackIncreasing("message_sent");
  if (!sent) return null;
  const names = ["received", "arrived", "begun", "source", "destination", "bytes", "since_step"];
  const found = await Promise.all(names.map((name) => plait.unpack("message_" + name)));
  const get = Object.fromEntries(names.map((name, i) => [name, found[i]])), received = plait.sum(sent, get.received);
  // The latest arrival so far: rises, so what is in view is found by bisection.
  const reached = new Float64Array(sent.length);
  for (let i = 0, latest = -Infinity; i < sent.length; i++) reached[i] = latest = Math.max(latest, received[i]);
  return {
    sent, received, reached, arrived: plait.sum(sent, get.arrived), begun: get.begun,
    source: get.source, destination: get.destination, bytes: get.bytes, since: get.since_step,
  };
};

plait.legend = function (holder, panels) {
  plait.data.kinds.forEach((kind, index) => {
    if (!kind.shown || kind.other) return;
    const item = document.createElement("button");
    item.type = "button";
    item.innerHTML = "<i style='background:" + kind.fill + "'></i>" + plait.escape(kind.name);
    item.title = "click to show only this";
    item.addEventListener("click", () => {
      const next = panels[0].highlight === index ? null : index;
      for (const panel of panels) panel.highlight = next;
      holder.querySelectorAll("button").forEach((b) => b.classList.toggle("faint", next !== null && b !== item));
      panels[0].view.redraw();
    });
    holder.appendChild(item);
  });
  const others = plait.data.kinds.filter((kind) => kind.shown && kind.other);
  if (others.length) holder.insertAdjacentHTML("beforeend", "<span title='" + plait.escape(others.map((kind) => kind.name).join(", ")) + "'><i style='background:" + others[0].fill + "'></i>" + others.length + " other kinds, of least time</span>");
  if (!plait.data.lanes.some((lane) => lane.what === "calls")) return;
  holder.insertAdjacentHTML("afterbegin", "<span><i style='background:var(--computing)'></i>computing (in no call)</span>");
};

plait.rankLegends = function () {
  const many = plait.data.ranks.length > plait.CURVES_MAX;
  const items = many ? "<span>of " + plait.data.ranks.length.toLocaleString("en") + " ranks, the " + plait.HIGHEST + " that reach highest: point at the curves to see which</span>" : plait.data.ranks.map((r) => "<span>" + r.swatch + "rank " + r.rank + "</span>").join("");
  document.querySelectorAll(".rank-legend:not(.fixed)").forEach((holder) => { holder.innerHTML = many && holder.closest("#scatter") ? "" : items; });
};

plait.tools = function (holder, view) {
  const steps = plait.data.steps;
  let at = -1;
  const show = (i) => {
    if (i < 0 || i >= steps.start.length) return;
    at = i;
    const room = (steps.end[i] - steps.start[i]) * 0.03;
    view.set(steps.start[i] - room, steps.end[i] + room);
    holder.querySelector(".which").textContent = "step " + steps.number[i];
  };
  const current = () => Math.max(0, plait.upper(steps.start, (view.t0 + view.t1) / 2, 0, steps.start.length) - 1);
  const acts = { whole: () => view.reset(), in: () => view.zoom(0.5), out: () => view.zoom(2), left: () => view.pan(-0.3), right: () => view.pan(0.3),
    before: () => show(at < 0 ? current() : at - 1), after: () => show(at < 0 ? current() : at + 1) };
  if (steps.start.length < 2) holder.querySelectorAll("[data-act=before], [data-act=after]").forEach((b) => b.remove());
  holder.querySelectorAll("[data-act]").forEach((b) => b.addEventListener("click", acts[b.dataset.act]));
  view.listeners.push(() => {
    const inside = at >= 0 && view.t0 <= steps.start[at] && view.t1 >= steps.end[at] && view.t1 - view.t0 < 1.2 * (steps.end[at] - steps.start[at]);
    if (!inside) { at = -1; holder.querySelector(".which").textContent = "showing " + plait.time((view.t1 - view.t0) * plait.data.quantum_ns); }
  });
};

// A long run opens on a few of its steps; the strip above shows where they are.
plait.openAt = function (view) {
  const steps = plait.data.steps, n = steps.start.length, shown = 4;
  if (n <= 8) return view.redraw();
  const first = Math.max(0, Math.min(n - shown, steps.number.indexOf(steps.typical) - 1));
  const length = steps.end[first + shown - 1] - steps.start[first];
  view.set(steps.start[first] - 0.01 * length, steps.end[first + shown - 1] + 0.01 * length);
};

plait.isLong = (bars) => plait.data.lanes.some((lane) => plait.OVERVIEW[lane.what]) && (plait.data.steps.start.length > 4 || bars.start.length > 2000);

plait.attempt = function (id, make) {
  const figure = document.getElementById(id);
  if (!figure) return null;
  try { return make(figure); } catch (error) {
    figure.querySelector(".plot").textContent = "This figure could not be drawn: " + error.message;
    console.error(error);
    return null;
  }
};

plait.start = async function () {
  plait.data = JSON.parse(document.getElementById("plait-data").textContent);
  const [bars, messages] = await Promise.all([plait.loadBars(), plait.loadMessages()]);
  const view = new plait.View(0, Math.max(1, plait.data.total_ns / plait.data.quantum_ns));
  plait.view = view;
  plait.rankLegends();
  const lanes = plait.attempt("tasks", (figure) => {
    if (plait.isLong(bars)) plait.attempt("tasks", () => new plait.OverviewPanel(figure, view, bars));
    const panel = new plait.LanesPanel(figure, view, bars, { messages });
    plait.legend(figure.querySelector(".legend"), [panel]);
    plait.tools(figure.querySelector(".tools"), view);
    return panel;
  });
  if (messages) {
    plait.attempt("in-flight", (figure) => {
      const curves = plait.flightCurves(messages);
      return new plait.CurvesPanel(figure, view, { curves: (panel) => plait.cornersInView(panel, curves), ticks: (high) => plait.byteTicks(high, 4), label: plait.bytes, name: "data in flight" });
    });
    plait.attempt("rate", (figure) => new plait.CurvesPanel(figure, view, { curves: (panel) => plait.ratesInView(panel, messages), ticks: (high) => plait.ticks(0, high, 4), label: plait.rate, name: "data rate" }));
    plait.attempt("scatter", (figure) => { const panel = new plait.ScatterPanel(figure, messages); panel.paint(); return panel; });
  }
  document.querySelectorAll(".icicle").forEach(plait.icicle);
  if (plait.data.gaps) plait.attempt("gaps", (figure) => { const panel = new plait.HistogramPanel(figure, plait.data.gaps); panel.paint(); return panel; });
  plait.data.counters.forEach((counter, i) => plait.attempt("counter-" + i, (figure) => {
    const whole = new plait.View(view.low, view.high);
    const panel = new plait.CounterPanel(figure, whole, counter);
    whole.redraw();
    return panel;
  }));
  await plait.drawTraffic(view);
  plait.openAt(view);
  const step = await plait.unpackIncreasing("path_step");
  if (step && document.getElementById("path")) {
    const path = { step, lane: await plait.unpack("path_lane"), what: await plait.unpack("path_what"), kind: await plait.unpack("path_kind"),
      start: await plait.unpackIncreasing("path_start"), length: await plait.unpack("path_length") };
    plait.attempt("path", (figure) => new plait.PathFigure(figure, bars, path));
  }
  document.querySelectorAll("div.graph").forEach((holder) => plait.attempt(holder.closest("figure").id, (figure) => new plait.GraphFigure(figure)));
  document.querySelectorAll("svg.columns").forEach(plait.watchTips);
  // Figures of HTML and pictures are drawn when they take up room.
  document.querySelectorAll("figure[data-plain]").forEach((figure) => {
    const images = [...figure.querySelectorAll("img")];
    const loaded = (image) => image.complete || new Promise((done) => image.addEventListener("load", done));
    Promise.all(images.map(loaded)).then(() => {
      const areThere = images.every((image) => image.naturalWidth > 0);
      if (areThere && figure.getBoundingClientRect().height > 40) figure.dataset.drawn = "true";
    });
  });
  performance.mark("plait-ready");
  document.documentElement.dataset.ready = "true";
};
plait.start();
