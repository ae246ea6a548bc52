// SPDX-License-Identifier: Apache-2.0
// Task graphs that Graphviz has drawn: size, hover text, and what a node is joined to.
"use strict";

plait.watchTips = function (element) {
  const tip = document.getElementById("tip");
  element.addEventListener("mousemove", (event) => {
    const told = event.target.closest("[data-tip]");
    if (!told || !told.dataset.tip) { tip.style.display = "none"; return; }
    tip.textContent = told.dataset.tip;
    tip.style.whiteSpace = "pre-line";
    tip.style.display = "block";
    tip.style.left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8) + "px";
    tip.style.top = Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 8) + "px";
  });
  element.addEventListener("mouseleave", () => { tip.style.display = "none"; tip.style.whiteSpace = ""; });
};

plait.GraphFigure = class {
  constructor(figure) {
    this.holder = figure.querySelector("div.graph");
    this.svg = this.holder.querySelector("svg");
    this.nodes = [...this.svg.querySelectorAll("g.node")];
    this.edges = [...this.svg.querySelectorAll("g.edge")];
    // Graphviz names things in titles, which a browser would show as hover text.
    for (const part of [...this.nodes, ...this.edges]) part.dataset.name = part.querySelector("title").textContent;
    this.svg.querySelectorAll("title").forEach((title) => title.remove());
    const on = (name, act) => figure.querySelector("[data-act=" + name + "]").addEventListener("click", act);
    on("full", () => this.holder.classList.remove("fit"));
    on("fit", () => this.holder.classList.add("fit"));
    this.svg.addEventListener("click", (event) => this.pick(event.target.closest("g.node")));
    plait.watchTips(this.svg);
  }
  pick(node) {
    this.picked = node && node !== this.picked ? node : null;
    const name = this.picked && this.picked.dataset.name, near = new Set([name]);
    for (const edge of this.edges) {
      const [from, to] = edge.dataset.name.split("->");
      const touches = name !== null && (from === name || to === name);
      if (touches) { near.add(from); near.add(to); }
      edge.classList.toggle("faint", name !== null && !touches);
    }
    for (const other of this.nodes) other.classList.toggle("faint", name !== null && !near.has(other.dataset.name));
  }
};
