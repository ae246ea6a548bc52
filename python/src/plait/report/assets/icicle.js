// SPDX-License-Identifier: Apache-2.0
// Trees of calls: a click on a box widens it to the whole width; a click on a box as wide as that shows all again.
"use strict";

plait.icicle = function (holder) {
  const boxes = [...holder.children].map((shape) => ({ shape, left: Number(shape.dataset.left), width: Number(shape.dataset.width) }));
  let shown = { left: 0, width: 100 };
  const show = () => {
    for (const box of boxes) {
      const left = Math.max(box.left, shown.left), right = Math.min(box.left + box.width, shown.left + shown.width);
      box.shape.hidden = right - left < 0.0005 * shown.width;
      box.shape.style.left = (100 * (left - shown.left)) / shown.width + "%";
      box.shape.style.width = (100 * Math.max(0, right - left)) / shown.width + "%";
    }
  };
  for (const box of boxes) {
    box.shape.addEventListener("click", () => {
      shown = box.width >= shown.width ? { left: 0, width: 100 } : box;
      show();
    });
  }
};
