// Ask and chat: the turns of a thread, the question under way, the question box, and the document beside them.
import { ask, clear, isUnderWay, stop, useAsking } from "../asking.js";
import { html, useCallback, useEffect, useLayoutEffect, useRef, useState } from "../html.js";
import { asked, Composer, usualSettings } from "../parts/composer.js";
import { lazy } from "../parts/lazy.js";
import { LiveTurn, Stopped } from "../parts/live_turn.js";
import { Problem } from "../parts/problem.js";
import { useEscape, useQuotes } from "../parts/quotes.js";
import { say } from "../parts/say.js";
import { threadsChanged } from "../parts/thread_list.js";
import { quotesOf, Turn } from "../parts/turn.js";
import { replace } from "../router.js";

const DocumentPane = lazy("/page/parts/document_pane.js");
const EMPTY = { name: "", turns: [], stopped: null, running: null };
const LOOK_AGAIN_MS = 1000;
const AT_ONCE = 20;

export default function Ask({ route, api }) {
  const name = route.parts[0] || "";
  const asking = useAsking();
  const [thread, setThread, problem, reload] = useThread(api, name);
  const [choices, settings, setSettings] = useChoices(api);
  const quotes = useQuotes();
  const turns = useGradually(thread);
  const scroller = useRef(null);
  const here = asking.phase !== "none" && asking.thread === name;
  const underWay = isUnderWay(asking);

  useFollowing(asking, name, thread, setThread);
  useScrolling(scroller, thread, asking, here, turns.length);
  useEscape(quotes, () => underWay && here && stop(api));
  useEffect(() => quotes.close(), [name]);

  const send = (question) => ask(api, { question, thread: name, ...(choices ? asked(settings, choices.defaults) : {}) });
  const again = () => ask(api, { ...asking.request, thread: name });
  const openPassage = useCallback((passage, opener) => quotes.open([passage], passage, opener), []);
  const openQuote = useCallback((answer, quote, opener) => quotes.open(quotesOf(answer), quote, opener), []);
  const stoppedBefore = !here && thread.stopped;

  return html`<div class=${quotes.active ? "ask beside" : "ask"}>
    <div class="conversation" ref=${scroller}>
      <h1 class="unseen">${name || "Ask"}</h1>
      <div class="turns">
        ${problem && html`<${Problem} error=${problem} retry=${reload} />`}
        ${!name && !here && html`<${Welcome} />`}
        ${turns.map((answer, at) => html`<${Turn} key=${answer.turn || `at ${at}`} answer=${answer} api=${api} onOpen=${openQuote}
          active=${quotesOf(answer).includes(quotes.active) ? quotes.active : null} />`)}
        ${!here && thread.running && html`<article class="turn" aria-busy="true"><h2 class="question" dir="auto">${thread.running}</h2>
          <p class="muted">This question is being worked on, from another tab or program.</p></article>`}
        ${stoppedBefore && html`<article class="turn"><h2 class="question" dir="auto">${stoppedBefore}</h2>
          <${Stopped} onAgain=${() => send(stoppedBefore)} /></article>`}
        ${here && asking.phase !== "answered" && html`<${LiveTurn} asking=${asking} api=${api} onOpen=${openPassage} onAgain=${again} />`}
      </div>
      <${Composer} key=${name} choices=${choices} settings=${settings} onSettings=${setSettings} underWay=${underWay} elsewhere=${underWay && !here}
        onAsk=${send} onStop=${() => stop(api)} follow=${thread.turns.length > 0} />
    </div>
    ${quotes.active && html`<aside class="doc" ref=${quotes.pane} tabindex="-1" aria-label="Document">
      <${DocumentPane} api=${api} citation=${quotes.active} position=${quotes.position} onClose=${quotes.close} onPrevious=${quotes.previous} onNext=${quotes.next} /></aside>`}
  </div>`;
}

function Welcome() {
  return html`<div class="welcome"><p class="question">What do you want to know?</p>
    <p class="muted">The answer comes from your files, with a quote for every statement, or says that they do not say. Nothing leaves this machine.</p></div>`;
}

// The turns of a thread, fetched when it is shown, when the server is back, and when another tab has added to it.
function useThread(api, name) {
  const [thread, setThread] = useState(EMPTY);
  const [problem, setProblem] = useState(null);
  const shown = useRef(EMPTY);
  shown.current = thread;
  const load = () => {
    if (!name) return setThread(EMPTY);
    api.get(api.path("threads", name)).then((loaded) => (setThread(loaded), setProblem(null)), setProblem);
  };
  useEffect(() => {
    setProblem(null);
    if (shown.current.name !== name) {
      setThread(EMPTY);
      load();
    }
    const compare = ({ detail }) => {
      const row = detail.find((thread) => thread.name === name);
      if (row && shown.current.name === name && row.turns !== shown.current.turns.length) load();
    };
    window.addEventListener("threads-loaded", compare);
    window.addEventListener("server-back", load);
    return () => {
      window.removeEventListener("threads-loaded", compare);
      window.removeEventListener("server-back", load);
    };
  }, [name]);
  useEffect(() => {
    if (!thread.running || thread.name !== name) return;
    const timer = setTimeout(load, LOOK_AGAIN_MS);
    return () => clearTimeout(timer);
  }, [thread]);
  return [thread, setThread, problem, load];
}

// The last turns of a thread at once, the others a few at a time while nothing else is to be done.
function useGradually({ name, turns }) {
  const [state, setState] = useState({ name, count: 0 });
  const count = state.name === name ? Math.max(state.count, AT_ONCE) : AT_ONCE;
  useEffect(() => {
    if (count >= turns.length) return;
    const timer = setTimeout(() => setState({ name, count: count + AT_ONCE }), 50);
    return () => clearTimeout(timer);
  }, [name, count, turns]);
  return turns.slice(-count);
}

// What a question can set; what a person chose stays for the next question.
let chosen = null;

function useChoices(api) {
  const [choices, setChoices] = useState(null);
  const [settings, setSettings] = useState(chosen || { within: "" });
  const set = (next) => setSettings((chosen = next));
  useEffect(() => {
    api.get("choices").then((loaded) => {
      setChoices(loaded);
      set({ ...usualSettings(loaded.defaults), ...chosen });
    }, () => {});
  }, []);
  return [choices, settings, set];
}

// A new thread gets its name in the address when its question begins; an answer becomes a turn of its thread.
function useFollowing(asking, name, thread, setThread) {
  const { phase, thread: to, answer } = asking;
  const began = useRef("");
  useEffect(() => {
    if (phase === "sent") began.current = name;
    if (phase === "running" && to && began.current === "" && name === "") {
      setThread({ ...EMPTY, name: to });
      replace("ask", [to]);
    }
    if (phase === "running") threadsChanged();
    if (phase !== "answered") return;
    if (to === name) {
      const turn = { ...answer, retrieved: asking.retrieved };
      setThread({ ...thread, name, stopped: null, turns: [...thread.turns.filter(({ turn: number }) => !number || number !== answer.turn), turn] });
      say(`${answer.status_text || answer.status} ${answer.text}`.slice(0, 2000));
    }
    clear();
    threadsChanged();
  }, [phase, to, name]);
  const stage = asking.stages.at(-1)?.doing;
  useEffect(() => stage && say(stage), [stage]);
}

// The end of the thread is in view when it opens, a new question at once, and what follows while one looks at the end.
function useScrolling(scroller, thread, asking, here, count) {
  const last = useRef("");
  const atEnd = useRef(true);
  useEffect(() => {
    const element = scroller.current;
    const watch = () => (atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 120);
    element.addEventListener("scroll", watch, { passive: true });
    return () => element.removeEventListener("scroll", watch);
  }, []);
  useLayoutEffect(() => {
    const opened = `${thread.name} ${here && asking.phase === "sent"}`;
    if (opened !== last.current || atEnd.current) toEnd(scroller.current);
    last.current = opened;
  }, [thread, asking, here, count]);
}

// Turns out of view have an estimated height until they are drawn, so the end moves once more.
function toEnd(element) {
  element.scrollTop = element.scrollHeight;
  requestAnimationFrame(() => (element.scrollTop = element.scrollHeight));
}
