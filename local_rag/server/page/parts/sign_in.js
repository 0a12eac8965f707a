// Shown where the server does not know this browser: how to sign it in. What signs in another tab signs in this one.
import { get } from "../api.js";
import { html, useEffect } from "../html.js";
import { renewed } from "../session.js";

export function SignIn({ onDone }) {
  const times = renewed.use();
  // The refusal may be older than what another tab got.
  useEffect(() => void get("health").then(onDone, () => {}), [times]);
  return html`<div class="page"><h1>This page is not signed in</h1>
    <p>The server was started anew, or this browser has not opened it yet. Start local-rag again by its icon, or
      open the address that${" "}<code>local-rag serve --print-url</code>${" "}prints in a terminal.</p>
  </div>`;
}
