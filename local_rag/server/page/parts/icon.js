// Line drawings of 20 x 20; they say nothing to a screen reader, so what holds one has a label.
import { html } from "../html.js";

const DRAWINGS = {
  menu: "M3 5h14M3 10h14M3 15h14",
  ask: "M4 4h12v9H9l-4 3.5V13H4z",
  search: "M8.5 3a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM12.5 12.5 17 17",
  index: "M3 5.5h5l1.5 2H17V16H3zM3 5.5V4h4.5",
  evaluation: "M3.5 17V10M8 17V4M12.5 17V8M17 17V12",
  runs: "M4 4h4v4H4zM12 12h4v4h-4zM8 6h4.5a1.5 1.5 0 0 1 1.5 1.5V12",
  doctor: "M2.5 10h4l2-5 3.5 10 2-5h3.5",
  file: "M5 3h7l3.5 3.5V17H5zM12 3v3.5h3.5",
  plus: "M10 4v12M4 10h12",
  more: "M4.5 10h.01M10 10h.01M15.5 10h.01",
  caution: "M10 3.5 17.5 16.5h-15zM10 8.5v3.5M10 14.2h.01",
  close: "M5 5l10 10M15 5 5 15",
  copy: "M7 7h9v9H7zM4 13V4h9",
  check: "M4 10.5 8 14.5 16 5.5",
  settings: "M3 6h8M15 6h2M3 14h2M9 14h8M13 4v4M7 12v4",
  send: "M10 16V4M5 9l5-5 5 5",
  stop: "M6 6h8v8H6z",
  up: "M5 12l5-5 5 5",
  down: "M5 8l5 5 5-5",
  right: "M8 5l5 5-5 5",
  left: "M12 5l-5 5 5 5",
  sun: "M10 6.5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7zM10 2v1.5M10 16.5V18M2 10h1.5M16.5 10H18"
    + "M4.5 4.5l1 1M14.5 14.5l1 1M15.5 4.5l-1 1M5.5 14.5l-1 1",
  moon: "M16 12A6.5 6.5 0 0 1 8 4a6.5 6.5 0 1 0 8 8z",
  auto: "M10 3a7 7 0 1 1 0 14zM10 3a7 7 0 1 0 0 14",
  keys: "M2.5 5.5h15v9h-15zM5.5 8.5h.01M8.5 8.5h.01M11.5 8.5h.01M14.5 8.5h.01M6.5 11.5h7",
  save: "M10 3v9M6 8.5l4 4 4-4M4 16.5h12",
  good: "M7 9v8H4V9zM7 9l3-6c1.2 0 2 .8 2 2v3h4l-1.2 7.5c-.1.9-.8 1.5-1.7 1.5H7",
  bad: "M13 11V3h3v8zM13 11l-3 6c-1.2 0-2-.8-2-2v-3H4l1.2-7.5C5.3 3.6 6 3 6.9 3H13",
};

export const Icon = ({ name }) => html`
  <svg class="icon" viewBox="0 0 20 20" aria-hidden="true"><path d=${DRAWINGS[name]} /></svg>`;

export const IconButton = ({ icon, label, ...rest }) => html`
  <button type="button" class="quiet icon" aria-label=${label} title=${label} ...${rest}>
    <${Icon} name=${icon} /></button>`;
