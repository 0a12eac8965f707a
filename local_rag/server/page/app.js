// The frame of the page: where one can go, the threads, and the view that the address names.
import * as api from "./api.js";
import { html, render, useEffect, useRef, useState } from "./html.js";
import { Icon } from "./parts/icon.js";
import { Keys } from "./parts/keys.js";
import { notLoaded } from "./parts/lazy.js";
import { Problem } from "./parts/problem.js";
import { LiveRegion } from "./parts/say.js";
import { SignIn, useToken } from "./parts/sign_in.js";
import { Reconnect } from "./parts/reconnect.js";
import { ThemeButton } from "./parts/theme.js";
import { ThreadList } from "./parts/thread_list.js";
import { to, useRoute } from "./router.js";

const PLACES = [
  ["ask", "Ask"], ["search", "Search"], ["index", "Index"],
  ["evaluation", "Evaluation"], ["runs", "Runs"], ["doctor", "Doctor"],
];
const VIEWS = new Set([...PLACES.map(([view]) => view), "file"]);

function App({ problem }) {
  const route = useRoute();
  const [drawer, setDrawer] = useState(false);
  const [keys, setKeys] = useState(false);
  const [signedOut, setSignedOut] = useState(false), [refused, setRefused] = useState(problem);
  const menu = useRef(null);
  useEffect(() => {
    const leave = () => setSignedOut(true);
    window.addEventListener("signed-out", leave);
    return () => window.removeEventListener("signed-out", leave);
  }, []);
  const enter = () => {
    setSignedOut(false);
    setRefused(null);
    window.dispatchEvent(new Event("server-back"));
  };
  useEffect(() => {
    const follow = () => useToken(api).then((used) => used && enter(), setRefused);
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, []);
  useEffect(() => setDrawer(false), [route]);
  useEffect(() => {
    document.title = `${title(route)} · local-rag`;
  }, [route]);
  useEffect(() => {
    if (!drawer) return;
    const close = (event) => event.key === "Escape" && (setDrawer(false), menu.current.focus());
    window.addEventListener("keydown", close);
    return () => window.removeEventListener("keydown", close);
  }, [drawer]);
  return html`
    <a class="skip" href="#main" onClick=${skipToMain}>Skip to the content</a>
    <header class="top">
      <button ref=${menu} class="button quiet icon" aria-expanded=${drawer} aria-controls="side"
        aria-label="Menu" onClick=${() => setDrawer(!drawer)}><${Icon} name="menu" /></button>
      <span class="brand">local-rag</span>
    </header>
    <aside id="side" class=${drawer ? "side open" : "side"} aria-label="Navigation">
      <a class="brand" href="#/ask"><img src="/page/icon.svg" alt="" width="22" height="22" />local-rag</a>
      <nav aria-label="Views"><ul>${PLACES.map(([view, label]) => html`
        <li key=${view}><a href=${to(view)} aria-current=${route.view === view ? "page" : null}>
          <${Icon} name=${view} />${label}</a></li>`)}</ul></nav>
      <${ThreadList} api=${api} current=${route.view === "ask" ? route.parts[0] : null} />
      <div class="side-foot">
        <${ThemeButton} />
        <button class="button quiet icon" onClick=${() => setKeys(true)} aria-label="Keys" title="Keys">
          <${Icon} name="keys" /></button>
      </div>
    </aside>
    ${drawer && html`<div class="shade" onClick=${() => setDrawer(false)}></div>`}
    <main id="main" tabindex="-1">
      <${Reconnect} api=${api} />
      ${signedOut ? html`<${SignIn} api=${api} refused=${refused} onDone=${enter} />` : html`<${View} key=${route.view} route=${route} />`}
    </main>
    ${keys && html`<${Keys} onClose=${() => setKeys(false)} />`}
    <${LiveRegion} />`;
}

function title({ view, parts }) {
  const label = PLACES.find(([name]) => name === view)?.[1] ?? "File";
  return view === "ask" && parts[0] ? parts[0] : label;
}

function skipToMain(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

// Loads the module of a view when it is first shown.
function View({ route }) {
  const [loaded, setLoaded] = useState({});
  const name = VIEWS.has(route.view) ? route.view : "";
  const load = () => {
    setLoaded({});
    if (name) import(`/page/views/${name}.js`).then((module) => setLoaded({ View: module.default }), () => setLoaded({ error: notLoaded() }));
  };
  useEffect(load, [name]);
  if (!name) return html`<div class="page"><h1>Not here</h1><p>This address names no view. <a href="#/ask">Ask a question</a></p></div>`;
  if (loaded.error) return html`<div class="page"><${Problem} error=${loaded.error} retry=${load} /></div>`;
  return loaded.View ? html`<${loaded.View} route=${route} api=${api} />` : html`<div class="page" aria-busy="true"></div>`;
}

const problem = await useToken(api).then(() => null, (error) => error);
const root = document.getElementById("app");
root.replaceChildren();
render(html`<${App} problem=${problem} />`, root);
