// The frame of the page: where one can go, the chats, and the view that the address names.
import { isBack } from "./api.js";
import { html, LiveRegion, render, useEffect, useRef, useState, useWindow } from "./html.js";
import { take } from "./indexing.js";
import { Dialog } from "./parts/dialog.js";
import { Icon, IconButton } from "./parts/icon.js";
import { Jobs } from "./parts/jobs.js";
import { lazy } from "./parts/lazy.js";
import { Reconnect } from "./parts/reconnect.js";
import { SignIn } from "./parts/sign_in.js";
import { ThemeButton } from "./parts/theme.js";
import { ThreadList } from "./parts/thread_list.js";
import { go, to, useRoute } from "./router.js";
import { signedOut } from "./session.js";

const PLACES = [["ask", "Ask"], ["search", "Search"], ["index", "Files"]];
const MORE = [["evaluation", "Evaluation"], ["runs", "History"], ["doctor", "Doctor"]];
const VIEWS = new Map([...PLACES, ...MORE, ["each"]].map(([view]) => [view, lazy(`/page/views/${view}.js`)]));

function App() {
  const route = useRoute();
  const [drawer, setDrawer] = useState(false);
  const [keys, setKeys] = useState(false);
  const isOut = signedOut.use();
  const menu = useRef(null);
  const enter = () => {
    signedOut.set(false);
    isBack();
  };
  useWindow("keydown", ({ key }) => {
    if (!drawer || key !== "Escape") return;
    setDrawer(false);
    menu.current.focus();
  });
  useWindow("dragover drop", (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    if (event.type === "dragover" || isOut) return;
    if (["ask", "evaluation"].includes(route.view)) return; // they take the files themselves
    const { index } = route.query;
    take([...event.dataTransfer.files], index);
    go("index", [], { index });
  });
  useEffect(() => setDrawer(false), [route]);
  useEffect(() => void (document.title = `${title(route)} · local-rag`), [route]);
  return html`
    <a class="skip" href="#main" onClick=${skipToMain}>Skip to the content</a>
    <header class="top">
      <button ref=${menu} class="quiet icon" aria-expanded=${drawer} aria-controls="side"
        aria-label="Menu" onClick=${() => setDrawer(!drawer)}><${Icon} name="menu" /></button>
      <span class="brand">local-rag</span>
    </header>
    <aside id="side" class=${drawer ? "side open" : "side"} aria-label="Navigation">
      <a class="brand" href="#/ask"><img src="/page/icon.svg" alt="" width="22" height="22" />local-rag</a>
      <nav aria-label="Views"><${Places} places=${PLACES} route=${route} />
        <details open=${MORE.some(([view]) => view === route.view)}><summary>More</summary>
          <${Places} places=${MORE} route=${route} /></details></nav>
      <${Jobs} />
      <${ThreadList} current=${route.view === "ask" ? route.parts[0] : null} />
      <div class="side-foot">
        <${ThemeButton} />
        <${IconButton} icon="keys" label="Keys" onClick=${() => setKeys(true)} />
      </div>
    </aside>
    ${drawer && html`<div class="shade" onClick=${() => setDrawer(false)}></div>`}
    <main id="main" tabindex="-1">
      <${Reconnect} />
      ${isOut ? html`<${SignIn} onDone=${enter} />` : html`<${View} key=${route.view} route=${route} />`}
    </main>
    ${keys && html`<${Keys} onClose=${() => setKeys(false)} />`}
    <${LiveRegion} />`;
}

function Places({ places, route }) {
  return html`<ul>${places.map(([view, label]) => html`
    <li><a href=${to(view)} aria-current=${route.view === view ? "page" : null}>
      <${Icon} name=${view} />${label}</a></li>`)}</ul>`;
}

function title({ view, parts }) {
  const label = [...PLACES, ...MORE].find(([name]) => name === view)?.[1] ?? "Ask each file";
  return view === "ask" && parts[0] ? parts[0] : label;
}

function skipToMain(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

function View({ route }) {
  const Known = VIEWS.get(route.view);
  if (Known) return html`<${Known} route=${route} />`;
  return html`<div class="page"><h1>Not here</h1>
    <p>This address names no view. <a href="#/ask">Ask a question</a></p></div>`;
}

// What the keyboard does.
const KEYS = [
  ["Enter", "ask the question"],
  ["Shift + Enter", "a new line in the question"],
  ["/", "to the question box"],
  ["Escape", "closes the document, else stops the question"],
];
// While a document with several quotes is open.
const STEPS = [["Alt + ↓, Alt + ↑", "the next and the previous quote"]];

function Keys({ onClose }) {
  const keys = document.querySelector("[aria-keyshortcuts]") ? [...KEYS, ...STEPS] : KEYS;
  return html`<${Dialog} title="Keys" onClose=${onClose}>
    <dl class="facts">${keys.map(([key, does]) => html`<dt><kbd>${key}</kbd></dt><dd>${does}</dd>`)}</dl>
  <//>`;
}

const root = document.getElementById("app");
root.replaceChildren();
render(html`<${App} />`, root);
