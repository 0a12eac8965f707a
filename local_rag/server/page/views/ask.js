// A thread, the question under way, the question box, and the document beside them.
import { back, get, path, stopJob } from "../api.js";
import { ask, asking as shown, clear, isLost, isUnderWay, join, queue, stop } from "../asking.js";
import {
  html, say, useCallback, useEffect, useLater, useLayoutEffect, useRef, useState, useWindow,
} from "../html.js";
import { BUSY, job, take } from "../indexing.js";
import { Progress } from "../parts/begin.js";
import { Composer, draft } from "../parts/composer.js";
import { Ended, LiveTurn, Waiting } from "../parts/live_turn.js";
import { Problem } from "../parts/problem.js";
import { Beside, useEscape, useQuotes } from "../parts/quotes.js";
import { choose, named, requested, useSettings } from "../parts/settings.js";
import { chats, threadsChanged } from "../parts/thread_list.js";
import { quotesOf, Turn } from "../parts/turn.js";
import { Welcome } from "../parts/welcome.js";
import { replace } from "../router.js";

const EMPTY = { name: "", scope: {}, turns: [], unanswered: [], running: [] };
const AT_ONCE = 20;

export default function Ask({ route }) {
  const name = route.parts[0] || "";
  const asking = shown.use();
  const [thread, setThread, problem, reload, setProblem] = useThread(name);
  const isLoaded = thread.name === name;
  const [settings, gone] = useSettings(name, isLoaded ? thread.scope : {});
  const set = (changed) => choose(name, changed);
  const quotes = useQuotes();
  const [hasDropped, setHasDropped] = useState("");
  const turns = useGradually(thread);
  const scroller = useRef(null);
  const here = asking.phase !== "none" && asking.thread === name;
  const underWay = isUnderWay(asking);

  useJoining(asking, name, thread, setThread);
  useFollowing(asking, name, thread, setThread);
  useScrolling(scroller, thread, asking, here, turns.length);
  useEscape(quotes, () => underWay && here && stop());
  useEffect(() => quotes.close(), [name]);

  const changed = () => {
    reload();
    threadsChanged();
  };
  const send = (question) => {
    if (gone) set(settings);
    const request = { question, thread: name, ...requested(settings) };
    if (!here || !underWay) return ask(request);
    queue(request).catch((error) => error.thread || setProblem(error)).then(changed);
  };
  const again = () => send(asking.question);
  const openPassage = (passage, opener) => quotes.open([passage], passage, opener);
  useWindow("drop", async ({ dataTransfer }) => {
    if (!dataTransfer.files.length) return;
    if (job.value.running) return setProblem(BUSY);
    setHasDropped(name);
    const files = await take([...dataTransfer.files], settings.index);
    if (files.length) set({ ...settings, files });
  });
  const edit = useCallback((question) => {
    draft(name, question);
    document.querySelector(".composer textarea").focus();
  }, [name]);
  const openQuote = useCallback((answer, quote, opener) => quotes.open(quotesOf(answer), quote, opener), []);
  const activeOf = (answer) => (quotesOf(answer).includes(quotes.active) ? quotes.active : null);

  return html`<${Beside} quotes=${quotes} scroller=${scroller}>
    <h1 class="unseen">${name || "Ask"}</h1>
    <div class="turns">
      <${Problem} error=${problem} retry=${problem === BUSY ? null : reload} />
      ${!name && !here && html`<${Welcome} settings=${settings} onAsk=${send}
        onIndex=${(index) => set({ ...settings, index })} />`}
      ${turns.map((turn, at) => (turn.state
        ? !(here && turn.question === asking.question) && html`<${Ended} key=${turn.question} turn=${turn}
            onAgain=${() => send(turn.question)} />`
        : html`<${Turn} key=${turn.turn || `at ${at}`} answer=${turn} active=${activeOf(turn)}
            onOpen=${openQuote} onEdit=${edit} />`))}
      ${here && asking.phase !== "answered" && html`<${LiveTurn} asking=${asking}
        onOpen=${openPassage} onAgain=${again} />`}
      ${thread.running.filter(({ job }) => !here || job !== asking.id).map(({ job, question }) => html`
        <${Waiting} key=${job} question=${question} onStop=${() => stopJob(job).then(changed)} />`)}
      ${name && hasDropped === name && html`<${Progress} />`}
    </div>
    <${Composer} key=${name} chat=${name} settings=${settings} gone=${gone} ready=${isLoaded} onSettings=${set}
      underWay=${underWay && here} waits=${!name} onAsk=${send} onStop=${stop}
      follow=${thread.turns.length > 0} /><//>`;
}

// The turns of a thread, fetched when it is shown, when the server is back, and when another tab has added to it.
function useThread(name) {
  const [thread, setThread] = useState(EMPTY);
  const [problem, setProblem] = useState(null);
  const load = () => {
    const leaving = new AbortController();
    const loaded = (value) => {
      setThread({ ...value, name });
      setProblem(null);
    };
    const failed = (error) => leaving.signal.aborted || setProblem(error);
    if (name) get(path("thread", { thread: name, detail: true }), leaving.signal).then(loaded, failed);
    return () => leaving.abort();
  };
  useEffect(() => {
    setProblem(null);
    if (thread.name === name) return;
    setThread(EMPTY);
    return load();
  }, [name]);
  const rows = chats.use();
  useEffect(() => {
    const row = rows.find((each) => each.name === name);
    if (row && thread.name === name && row.turns !== thread.turns.length) load();
  }, [rows]);
  const times = back.use();
  useEffect(() => (times ? load() : undefined), [times]);
  return [thread, setThread, problem, load, setProblem];
}

// A question that is at work in this thread, as after a reload or in another tab, is joined; so is the next in line
// once the one before it has ended.
function useJoining(asking, name, thread, setThread) {
  const free = !isUnderWay(asking);
  useEffect(() => {
    const next = thread.running.find(({ job }) => job !== asking.id);
    if (!free || !next || thread.name !== name || isLost(asking)) return;
    const { phase, id, question, error, drafts } = asking;
    const isOver = phase !== "none" && phase !== "answered" && asking.thread === name;
    const ended = isOver ? [{ question, at: now(), state: phase, error, draft: drafts.at(-1)?.text }] : [];
    const running = thread.running.filter(({ job }) => job !== id && job !== next.job); // each is joined once
    setThread({ ...thread, unanswered: [...thread.unanswered, ...ended], running });
    join(next, name);
  }, [free, thread]);
}

const now = () => new Date().toISOString();

// The last turns of a thread at once, the others a few at a time while nothing else is to be done.
function useGradually({ name, turns: answered, unanswered }) {
  const turns = [...answered, ...unanswered].sort((a, b) => (a.at > b.at) - (a.at < b.at));
  const [state, setState] = useState({ name, count: 0 });
  const count = state.name === name ? Math.max(state.count, AT_ONCE) : AT_ONCE;
  const more = count < turns.length && (() => setState({ name, count: count + AT_ONCE }));
  useLater(50, more, [name, count, turns.length]);
  return turns.slice(-count);
}

// A new thread gets its name in the address once its question is in line; an answer becomes a turn of its thread.
function useFollowing(asking, name, thread, setThread) {
  const { phase, thread: to, answer } = asking;
  const began = useRef(null);
  useEffect(() => {
    if (to && began.current === "" && name === "") {
      began.current = null; // once: a new chat beside it stays where it is
      named(to);
      setThread({ ...EMPTY, name: to });
      replace("ask", [to]);
    } else if (phase === "sent") began.current = to ? null : name;
    if (["running", "stopped", "failed"].includes(phase)) threadsChanged();
    if (phase !== "answered") return;
    if (to === name) {
      const turn = { ...answer, at: answer.at || now(), retrieved: asking.retrieved };
      const others = thread.turns.filter(({ turn: number }) => !number || number !== answer.turn);
      const unanswered = thread.unanswered.filter(({ question }) => question !== answer.question);
      const running = thread.running.filter(({ job }) => job !== asking.id);
      setThread({ ...thread, name, turns: [...others, turn], unanswered, running });
      say(`${answer.status_text || answer.status} ${answer.text}`.slice(0, 2000));
    }
    clear();
    threadsChanged();
  }, [phase, to, name]);
  useLater(700, phase === "stopped" && threadsChanged, [phase]); // the server has its end by then
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
