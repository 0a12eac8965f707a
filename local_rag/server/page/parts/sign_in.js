// Shown where the server does not know this browser: how to sign it in. What signs in another tab signs in this one.
import { get } from "../api.js";
import { html, useEffect, useWindow } from "../html.js";
import { look } from "../session.js";
import { Command } from "./problem.js";

export function SignIn({ onDone }) {
  const check = () => get("health").then(onDone, () => {});
  useWindow("session", check);
  useEffect(() => {
    look();
    check(); // the refusal may be older than what another tab has told
  }, []);
  return html`<div class="page"><h1>This page is not signed in</h1>
    <p>Open the address that the server printed when it started. This prints it again:</p>
    <p><${Command} text="local-rag serve --print-url" /></p>
  </div>`;
}
