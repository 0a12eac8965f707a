// What went wrong, what to do about it, and a button that copies a text.
import { html, say, useLater, useState } from "../html.js";
import { follow } from "../indexing.js";
import { go } from "../router.js";
import { Icon } from "./icon.js";
import { capital } from "./texts.js";

// An error of the API, and a button to try again; nothing where there is none.
export function Problem({ error, retry }) {
  return error && html`<div class="card problem" role="alert">
    <p><strong><bdi>${capital(error.message)}</bdi></strong></p>
    ${error.action in ACTIONS ? html`<${Action} of=${error.action} />`
      : error.action !== "terminal" && html`<${Hint} hint=${error.hint} />`}
    ${retry && html`<p><button onClick=${retry}>Try again</button></p>`}
  </div>`;
}

// What the page does about an error or a finding, by the action that the server names.
const ACTIONS = {
  folder: ["Choose a folder", () => go("index")],
  sync: ["Check for changes", () => (follow("index/sync", {}), go("index"))],
  models: ["See the models", () => go("doctor")],
};

export function Action({ of }) {
  const [label, act] = ACTIONS[of];
  return html`<p><button onClick=${act}>${label}</button></p>`;
}

export const Hint = ({ hint }) => hint && html`<p class="muted"><bdi>${capital(hint)}</bdi></p>`;

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
