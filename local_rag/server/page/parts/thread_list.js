// The threads at the side: the one that was used last first; each can be renamed, saved and deleted.
import { html, useEffect, useState } from "../html.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icon.js";
import { Problem } from "./problem.js";
import { say } from "./say.js";
import { go, to } from "../router.js";

// Told after every question, so that the list shows it.
export const threadsChanged = () => window.dispatchEvent(new Event("threads"));

export function ThreadList({ api, current }) {
  const [threads, setThreads] = useState([]);
  const [open, setOpen] = useState(null);
  useEffect(() => {
    const load = () => api.get("threads").then(({ threads: rows }) => {
      setThreads(rows);
      window.dispatchEvent(new CustomEvent("threads-loaded", { detail: rows }));
    }, () => {});
    const names = ["threads", "focus", "server-back"];
    load();
    names.forEach((name) => window.addEventListener(name, load));
    return () => names.forEach((name) => window.removeEventListener(name, load));
  }, []);
  return html`<section class="threads" aria-label="Threads">
    <header class="row"><h2>Threads</h2>
      <a class="button quiet icon" href="#/ask" aria-label="New thread" title="New thread"><${Icon} name="plus" /></a></header>
    ${threads.length === 0 && html`<p class="muted small">Your questions will stand here.</p>`}
    <ul>${threads.map((thread) => html`<li key=${thread.name}>
      <a href=${to("ask", [thread.name])} aria-current=${thread.name === current ? "page" : null}
        title=${thread.name}><bdi>${thread.first || thread.name}</bdi></a>
      <button class="button quiet icon" aria-label=${`Rename, save or delete ${thread.name}`}
        onClick=${() => setOpen(thread)}><${Icon} name="more" /></button></li>`)}</ul>
    ${open && html`<${ThreadDialog} api=${api} thread=${open} current=${current} onClose=${() => setOpen(null)} />`}
  </section>`;
}

function ThreadDialog({ api, thread, current, onClose }) {
  const [name, setName] = useState(thread.name);
  const [sure, setSure] = useState(false);
  const [error, setError] = useState(null);
  const base = api.path("threads", thread.name);
  const change = async (action, body, done, place) => {
    try {
      await api.post(`${base}/${action}`, body);
      say(done);
      if (current === thread.name) go("ask", place);
      threadsChanged();
      onClose();
    } catch (problem) {
      setError(problem);
    }
  };
  const rename = (event) => {
    event.preventDefault();
    change("rename", { to: name }, "Renamed", [name]);
  };
  return html`<${Dialog} title=${thread.name} onClose=${onClose}>
    <form class="stack" onSubmit=${rename}>
      <label class="field">Name<input value=${name} maxlength="80" dir="auto" onInput=${(event) => setName(event.target.value)} /></label>
      <div class="row"><button class="button primary" disabled=${!name.trim() || name === thread.name}>Rename</button>
        <a class="button" href=${`/api/${base}/export`} download>Save as Markdown</a>
        <span class="fill"></span>
        ${sure
          ? html`<button type="button" class="button danger" onClick=${() => change("delete", {}, "Deleted", [])}>Delete for good</button>`
          : html`<button type="button" class="button quiet danger" onClick=${() => setSure(true)}>Delete …</button>`}
      </div>
      ${error && html`<${Problem} error=${error} />`}
    </form>
  <//>`;
}
