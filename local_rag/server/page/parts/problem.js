// An error of the API: what went wrong, what to do about it, and a button to try again.
import { html } from "../html.js";
import { Command } from "./copy.js";

export function Problem({ error, retry }) {
  return html`<div class="card problem" role="alert">
    <p><strong><bdi>${error.message}</bdi></strong></p>
    ${error.hint && html`<${Hint} text=${error.hint} />`}
    ${retry && html`<p><button class="button" onClick=${retry}>Try again</button></p>`}
  </div>`;
}

// A hint is a command to copy where it begins like one ("local-rag index   brings it up to date"), else a sentence.
export function Hint({ text }) {
  const [command, ...about] = text.split(/ {2,}/);
  if (!/^(local-rag|ollama|pip|python3?|chmod|sudo|mkdir|ls|[A-Z_]+=\S+) /.test(text)) return html`<p class="muted"><bdi>${text}</bdi></p>`;
  return html`<div class="hint"><${Command} text=${command} />${about.length > 0 && html`<span class="muted"><bdi>${about.join(" ")}</bdi></span>`}</div>`;
}
