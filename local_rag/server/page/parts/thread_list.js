// The chats at the side, by day, the one that was used last first; each can be renamed, saved and deleted.
import { back, get, path, post } from "../api.js";
import { bound, html, say, shared, submitted, useEffect, useState, useWindow } from "../html.js";
import { go, to } from "../router.js";
import { Dialog } from "./dialog.js";
import { Icon, IconButton } from "./icon.js";
import { Problem } from "./problem.js";
import { useFilter, useReply } from "./reply.js";
import { FileLink } from "./signed.js";
import { dayOf } from "./texts.js";

// The chats as the server had them last.
export const chats = shared([]);

// Told after every question, so that the list shows it.
export const changes = shared(0);
export const threadsChanged = () => changes.set(changes.value + 1);

export function ThreadList({ current }) {
  const threads = chats.use();
  const [open, setOpen] = useState(null);
  const [filter, field] = useFilter("Find a chat");
  const [{ value: said }] = useReply(filter && path("threads", { filter })); // those of which an answer has the words
  const load = () => void get("threads").then(({ threads: rows }) => chats.set(rows), () => {});
  useEffect(load, [back.use(), changes.use()]);
  useWindow("focus", load);
  const answers = new Set(said?.threads.map(({ name }) => name));
  const days = byDay(threads.filter((thread) => has(thread, filter) || (filter && answers.has(thread.name))));
  return html`<section class="threads" aria-label="Chats">
    <header class="row"><h2 class="small fill">Chats</h2>
      <a class="button quiet icon" href="#/ask" aria-label="New chat" title="New chat"><${Icon} name="plus" /></a>
    </header>
    ${threads.length ? field : html`<p class="small">Your questions will stand here.</p>`}
    ${filter && !days.length && html`<p class="small" role="status">No chat has these words.</p>`}
    <div class="days">${days.map(([day, those]) => html`<section key=${day}><h3 class="small">${day}</h3>
      <ul>${those.map((thread) => html`<li key=${thread.name}>
        <a href=${to("ask", [thread.name])} aria-current=${thread.name === current ? "page" : null}
          title=${thread.name}><bdi>${nameOf(thread)}</bdi>${thread.unanswered
            && html` <span class="small">not answered</span>`}</a>
        <${IconButton} icon="more" label=${`Rename, save or delete ${thread.name}`} onClick=${() => setOpen(thread)} />
      </li>`)}</ul></section>`)}</div>
    ${open && html`<${ThreadDialog} thread=${open} current=${current} onClose=${() => setOpen(null)} />`}
  </section>`;
}

// [[day, chats]] in the order of the chats.
function byDay(threads) {
  const days = new Map();
  threads.forEach((thread) => days.set(dayOf(thread.at), [...(days.get(dayOf(thread.at)) || []), thread]));
  return [...days];
}

function has({ name, first }, filter) {
  const text = `${name} ${first}`.toLowerCase();
  return filter.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

// A chat that nobody has named is called after its first question.
const nameOf = ({ name, first }) => (/^\d{4}-\d\d-\d\d /.test(name) && first) || name;

function ThreadDialog({ thread, current, onClose }) {
  const [name, setName] = useState(thread.name);
  const [sure, setSure] = useState(false);
  const [error, setError] = useState(null);
  const change = async (action, body, done, place) => {
    try {
      await post(`thread/${action}`, { thread: thread.name, ...body });
      say(done);
      if (current === thread.name) go("ask", place);
      threadsChanged();
      onClose();
    } catch (problem) {
      setError(problem);
    }
  };
  const saved = path("thread", "export", { thread: thread.name });
  return html`<${Dialog} title=${thread.name} onClose=${onClose}>
    <form class="stack" onSubmit=${submitted(() => change("rename", { to: name }, "Renamed", [name]))}>
      <label class="field">Name<input maxlength="80" ...${bound(name, setName)} /></label>
      <div class="row"><button class="primary" disabled=${!name.trim() || name === thread.name}>Rename</button>
        ${thread.turns > 0 && html`<${FileLink} class="button" path=${saved} download>Save as Markdown<//>`}
        <span class="fill"></span>
        ${sure
          ? html`<button type="button" class="danger"
              onClick=${() => change("delete", {}, "Deleted", [])}>Delete for good</button>`
          : html`<button type="button" class="quiet danger" onClick=${() => setSure(true)}>Delete …</button>`}
      </div>
      ${sure && html`<p class="small">
        The records of its questions go with it, and how you judged the answers.</p>`}
      <${Problem} error=${error} />
    </form>
  <//>`;
}
