// Numbers, sizes and times as a person reads them.
import { html } from "../html.js";

export const many = (count, noun) => `${count.toLocaleString()} ${noun}${count === 1 ? "" : "s"}`;

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export const joined = (parts, sign = " · ") => parts.filter(Boolean).join(sign);

export function size(bytes) {
  const unit = bytes < 1e3 ? 0 : bytes < 1e6 ? 1 : bytes < 1e9 ? 2 : 3;
  return `${(bytes / 1000 ** unit).toFixed(unit && 1)} ${["B", "kB", "MB", "GB"][unit]}`;
}

export function duration(seconds) {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? many(Math.round(seconds / 60), "minute") : many(Math.round(seconds / 3600), "hour");
}

// The day of a moment: Today, Yesterday, or its date.
export function dayOf(at) {
  const date = new Date(at);
  const yesterday = new Date();
  yesterday.setDate(yesterday.getDate() - 1);
  if (date.toDateString() === new Date().toDateString()) return "Today";
  return date.toDateString() === yesterday.toDateString()
    ? "Yesterday"
    : date.toLocaleDateString(undefined, { dateStyle: "medium" });
}

export const Notes = ({ lines = [] }) => lines.map((line) => html`<p class="small"><bdi>${line}</bdi></p>`);

export function Time({ at }) {
  const shown = new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  return html`<time datetime=${at}>${shown}</time>`;
}
