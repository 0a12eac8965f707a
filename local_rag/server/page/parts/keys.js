// What the keyboard does.
import { html } from "../html.js";
import { Dialog } from "./dialog.js";

const KEYS = [
  ["Enter", "ask the question"],
  ["Shift + Enter", "a new line in the question"],
  ["/", "to the question box"],
  ["Alt + ↓, Alt + ↑", "the next and the previous quote, beside the answer"],
  ["Escape", "closes the document, else stops the question"],
  ["Tab, Shift + Tab", "to the next and the previous button, mark or field"],
];

export function Keys({ onClose }) {
  return html`<${Dialog} title="Keys" onClose=${onClose}>
    <dl class="keys">${KEYS.map(([key, does]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${does}</dd></div>`)}</dl>
  <//>`;
}
