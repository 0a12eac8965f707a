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

// A hint is a command to copy where it begins like one ("local-rag index   brings it up to date"), else a sentence.
export function Hint({ text }) {
  const [command, ...about] = text.replace(/^then: /, "").split(/ {2,}/);
  if (!/^(local-rag|ollama|pip|python3?|chmod|sudo|mkdir|ls|[A-Z_]+=\S+) /.test(command)) return html`<p class="muted"><bdi>${capital(text)}</bdi></p>`;
  return html`<div class="hint"><${Command} text=${command} />${about.length > 0 && html`<span class="muted"><bdi>${about.join(" ")}</bdi></span>`}</div>`;
}

export const NoIndex = ({ hint }) => html`<div class="card stack"><p>Nothing is indexed yet. Type this at the terminal, with a folder of yours in place of FOLDER:</p><${Hint} text=${hint} /></div>`;

// Without a clipboard, as at an address of the local network, there is no button.
export function CopyButton({ text, label = "Copy" }) {
  const [copied, setCopied] = useState(false);
  useLater(2000, copied && (() => setCopied(false)), [copied]);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    say("Copied");
  };
  return navigator.clipboard && html`<button type="button" class="quiet small" onClick=${copy}>
    <${Icon} name=${copied ? "check" : "copy"} />${copied ? "Copied" : label}</button>`;
}

export function Command({ text }) {
  return html`<span class="command"><code>${text}</code><${CopyButton} text=${text} /></span>`;
}
