// Shown where the server does not know this browser: how to sign it in. What signs in another tab signs in this one.
import { get } from "../api.js";
import { html, useEffect } from "../html.js";
import { renewed } from "../session.js";
import { Command } from "./problem.js";

export function SignIn({ onDone }) {
  const times = renewed.use();
  // The refusal may be older than what another tab got.
  useEffect(() => void get("health").then(onDone, () => {}), [times]);
  return html`<div class="page"><h1>This page is not signed in</h1>
    <p>The server was started anew, or this browser has not opened it yet. Let it print a new address, and open that:
      each signs a browser in once, until the server ends.</p>
    <p><${Command} text="local-rag serve --print-url" /></p>
    <p class="muted">Started by an icon? Open it again: a server that runs is found.</p>
  </div>`;
}
