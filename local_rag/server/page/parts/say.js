// The live region: what a screen reader says while nothing that has the focus changes.
import { html, useEffect, useState } from "../html.js";

let speak = () => {};

export function say(text) {
  speak(text);
}

export function LiveRegion() {
  const [text, setText] = useState("");
  useEffect(() => {
    speak = setText;
  }, []);
  return html`<div class="unseen" role="status" aria-live="polite">${text}</div>`;
}
