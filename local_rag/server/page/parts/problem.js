// What went wrong, what to do about it, and buttons that copy a text or a command.
import { html, say, useLater, useState } from "../html.js";
import { Icon } from "./icon.js";
import { capital } from "./texts.js";

// An error of the API, and a button to try again; nothing where there is none.
export function Problem({ error, retry }) {
  return error && html`<div class="card problem" role="alert">
    <p><strong><bdi>${capital(error.message)}</bdi></strong></p>
    ${error.hint && html`<${Hint} text=${error.hint} />`}
    ${retry && html`<p><button onClick=${retry}>Try again</button></p>`}
  </div>`;
}

const COMMAND = /^(local-rag|ollama|pip|python3?|chmod|sudo|mkdir|mv|ls|[A-Z_]+=\S+) /;

// A hint is a command to copy where it begins like one ("local-rag index   brings it up to date"), else a sentence.
export function Hint({ text }) {
  const [command, ...about] = text.replace(/^then: /, "").split(/ {2,}/);
  if (!COMMAND.test(command)) return html`<p class="muted"><bdi>${capital(text)}</bdi></p>`;
  return html`<div class="hint"><${Command} text=${command} />
    ${about.length > 0 && html`<span class="muted"><bdi>${about.join(" ")}</bdi></span>`}</div>`;
}

const COPIED = "Copied";

export function CopyButton({ text, label = "Copy" }) {
  const [done, setDone] = useState("");
  useLater(2000, done === COPIED && (() => setDone("")), [done]);
  const copy = () => navigator.clipboard.writeText(text)
    .then(() => COPIED, () => "Not copied: select the text and press Ctrl + C")
    .then((report) => {
      setDone(report);
      say(report);
    });
  return html`<button type="button" class="quiet small" onClick=${copy}>
    <${Icon} name=${done === COPIED ? "check" : "copy"} />${done || label}</button>`;
}

export function Command({ text }) {
  return html`<span class="command"><code>${text}</code><${CopyButton} text=${text} /></span>`;
}
