// SPDX-License-Identifier: Apache-2.0
// Colours that canvases share with the page (style.css), in light and dark.
"use strict";
plait.theme = {};
plait.canvases = [];

plait.readTheme = function () {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["ink", "soft", "axis", "grid", "paper", "lane", "faded", "veil", "accent", "computing"])
    plait.theme[name] = style.getPropertyValue("--" + name).trim();
  plait.ink = plait.theme.ink; plait.soft = plait.theme.soft;
};
plait.isDark = () => window.matchMedia("(prefers-color-scheme: dark)").matches;
plait.readTheme();

window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  plait.readTheme();
  for (const canvas of plait.canvases) { canvas.image = null; canvas.isNear() ? canvas.paint() : canvas.stale = true; }
});
