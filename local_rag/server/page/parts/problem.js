// An error of the API: what went wrong, what to do about it, and a button to try again.
import { html } from "/page/html.js";
import { Command } from "/page/parts/copy.js";

export function Problem({ error, retry }) {
  const signedOut = error.status === 401;
  const hint = signedOut ? "local-rag serve --print-url" : error.hint;
  return html`<div class="card problem" role="alert">
    <p><strong><bdi>${signedOut ? "This page is not signed in (any more)." : error.message}</bdi></strong></p>
    ${signedOut && html`<p>Open the address that the server printed when it started, or print a new one:</p>`}
    ${hint && html`<${Hint} text=${hint} />`}
    ${retry && html`<p><button class="button" onClick=${retry}>Try again</button></p>`}
  </div>`;
}

// A hint is a command to copy where it begins like one ("local-rag index   brings it up to date"), else a sentence.
export function Hint({ text }) {
  const [command, ...about] = text.split(/ {2,}/);
  if (!/^(local-rag|ollama|pip|ls) /.test(text)) return html`<p class="muted"><bdi>${text}</bdi></p>`;
  return html`<div class="hint"><${Command} text=${command} />${about.length > 0 && html`<span class="muted"><bdi>${about.join(" ")}</bdi></span>`}</div>`;
}
