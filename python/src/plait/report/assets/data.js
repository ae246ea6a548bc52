// SPDX-License-Identifier: Apache-2.0
// Unpacks the columns (report/columns.py), and small helpers for numbers.
"use strict";
const plait = {};

plait.unpack = async function (id) {
  const element = document.getElementById("column-" + id);
  if (!element) return null;
  const text = atob(element.textContent.trim()), raw = new Uint8Array(text.length);
  for (let i = 0; i < raw.length; i++) raw[i] = text.charCodeAt(i);
  element.textContent = "";
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const n = planes.length / 4, values = new Uint32Array(n);
  for (let i = 0; i < n; i++)
    values[i] = planes[i] | (planes[n + i] << 8) | (planes[2 * n + i] << 16) | (planes[3 * n + i] << 24);
  return values;
};

plait.unpackIncreasing = async function (id) {
  const steps = await plait.unpack(id);
  if (!steps) return null;
  const values = new Float64Array(steps.length);
  let sum = 0;
  for (let i = 0; i < steps.length; i++) {
    const z = steps[i];
    sum += z % 2 ? -(z + 1) / 2 : z / 2;
    values[i] = sum;
  }
  return values;
};

plait.sum = function (a, b) {
  const c = new Float64Array(a.length);
  for (let i = 0; i < c.length; i++) c[i] = a[i] + b[i];
  return c;
};

// First index in [from, to) whose value is greater than x; the values rise.
plait.upper = function (values, x, from, to) {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (values[middle] > x) to = middle; else from = middle + 1;
  }
  return from;
};

plait.timeUnit = function (ns) {
  const size = Math.abs(ns);
  if (size >= 1e9) return [1e9, "s"];
  if (size >= 1e6) return [1e6, "ms"];
  if (size >= 1e3) return [1e3, "µs"];
  return [1, "ns"];
};
plait.time = function (ns) {
  if (ns === 0) return "0";
  const [scale, name] = plait.timeUnit(ns);
  return Number((ns / scale).toPrecision(4)) + " " + name;
};
plait.bytes = function (bytes) {
  const names = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (Math.abs(bytes) >= 1024 && i < names.length - 1) { bytes /= 1024; i++; }
  return Number(bytes.toPrecision(3)) + " " + names[i];
};
plait.rate = (bytesPerSecond) => {
  const names = ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"];
  let i = 0;
  while (Math.abs(bytesPerSecond) >= 1000 && i < names.length - 1) { bytesPerSecond /= 1000; i++; }
  return Number(bytesPerSecond.toPrecision(3)) + " " + names[i];
};
plait.number = (x) => x === 0 ? "0" : Math.abs(x) >= 1e5 || Math.abs(x) < 1e-3 ? x.toExponential(1) : String(Number(x.toPrecision(4)));

// Round values between low and high, about `count` of them.
plait.ticks = function (low, high, count) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / Math.max(1, count), power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const result = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) result.push(i * step);
  return result;
};

// The same in powers of two of bytes, so that labels are round in KiB and MiB.
plait.byteTicks = function (high, count) {
  let unit = 1;
  while (high / unit >= 1024) unit *= 1024;
  return plait.ticks(0, high / unit, count).map((t) => t * unit);
};

plait.rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
plait.inkOn = function (hex) {
  const [r, g, b] = plait.rgb(hex);
  return 0.299 * r + 0.587 * g + 0.114 * b > 150 ? "#1b2430" : "#ffffff";
};
