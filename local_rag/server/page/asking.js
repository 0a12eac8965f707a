// The question that this tab shows at work: one reducer from the events of its job to what is seen. It lives outside of
// the views, so that a look at another view does not lose it; the job itself is the server's.
import { back, path, post, stopJob, stream } from "./api.js";
import { shared } from "./html.js";

const NOTHING = {
  phase: "none",     // none, sent, queued, running, answered, stopped, failed
  question: "", thread: "", id: "", position: 0, graph: "",
  stages: [],        // {node, doing, seconds: null while it works}
  retrieved: [],     // {query, passages}
  verdicts: [],      // in the order in which they were given
  drafts: [],        // {attempt, candidate, text, withdrawn}
  notes: [], webQuery: null, answer: null, error: null,
};

const RUNNING = new Set(["sent", "queued", "running"]);
export const isUnderWay = ({ phase }) => RUNNING.has(phase);

// Whether nothing is known of it any more, for the server or the sign-in is gone.
export const isLost = ({ error }) => ["unreachable", "unauthorized"].includes(error?.code);

// While a model is loaded this node works; nothing says that it has ended, but that another one begins.
const LOADING = "load";

const EVENTS = {
  queued: (state, { id, position, thread }) => ({
    phase: position > 0 ? "queued" : state.phase, id, position,
    thread: thread || state.thread,
  }),
  begun: (state, { id, thread, graph, question }) => ({
    phase: "running", id, graph, position: 0,
    thread: thread || state.thread,
    question: question || state.question,
  }),
  started: (state, { node, doing }) => ({
    stages: [...ended(state.stages, LOADING, 0), { node, doing, seconds: null }],
    webQuery: null,
  }),
  step: (state, { node, seconds }) => ({ stages: ended(state.stages, node, seconds) }),
  retrieved: (state, value) => ({ retrieved: [...state.retrieved, value] }),
  graded: (state, verdict) => ({
    verdicts: [...state.verdicts, verdict],
    drafts: graded(state.drafts, verdict),
  }),
  note: (state, { text }) => ({ notes: [...state.notes, text] }),
  token: (state, value) => ({ drafts: written(state.drafts, value) }),
  web_query: (state, value) => ({ webQuery: value }),
  answer: (state, answer) => ({ phase: "answered", answer, thread: answer.thread || state.thread, webQuery: null }),
  sent: (state, { question, thread, id = "" }) => ({ ...NOTHING, phase: "sent", question, thread, id }),
  consented: () => ({ webQuery: null }),
  stopped: () => ({ phase: "stopped", webQuery: null }),
  failed: (state, error) => ({ phase: "failed", error, thread: error.thread || state.thread, webQuery: null }),
  cleared: () => NOTHING,
};

// The state after an event; one that is not known changes nothing, so that a newer server can send more.
function reduce(state, [name, value]) {
  const change = EVENTS[name];
  return change ? { ...state, ...change(state, value) } : state;
}

function ended(stages, node, seconds) {
  const at = stages.findLastIndex((stage) => stage.node === node && stage.seconds === null);
  return stages.map((stage, index) => (index === at ? { ...stage, seconds } : stage));
}

// A draft of another attempt takes back the one before; one that begins anew takes back its own text.
function written(drafts, { text, attempt, candidate, restart }) {
  const last = drafts.at(-1);
  const isSame = last && last.attempt === attempt && last.candidate === candidate;
  if (isSame && !restart) return [...drafts.slice(0, -1), { ...last, text: last.text + text }];
  const before = (isSame ? drafts.slice(0, -1) : drafts).map((draft) => ({ ...draft, withdrawn: true }));
  return [...before, { attempt, candidate, text, withdrawn: false, why: "" }];
}

const REJECTIONS = new Set(["not supported", "not useful", "max retries"]);

// The rule of a grader of drafts names where the graph goes on: where it rejects, the draft is taken back at once.
function graded(drafts, { verdict, why, chunk_id }) {
  if (chunk_id || !REJECTIONS.has(verdict) || !drafts.length) return drafts;
  return [...drafts.slice(0, -1), { ...drafts.at(-1), withdrawn: true, why: why || verdict }];
}

export const asking = shared(NOTHING);
let shown = null; // what is followed now: events of anything else are left aside
let waiting = [];
let frame = 0;

// Many answer deltas come between two frames: they are put together before anything is drawn.
function dispatch(name, value) {
  waiting.push([name, value]);
  if (document.hidden || name !== "token") flush();
  else frame ||= requestAnimationFrame(flush);
}

function flush() {
  cancelAnimationFrame(frame);
  frame = 0;
  const events = waiting;
  waiting = [];
  asking.set(events.reduce(reduce, asking.value));
}

// Asks, and shows what comes until the answer, an error, or the stop.
export const ask = (request) => follow(request, "ask", { ...request, detail: true });

// Puts a question in line behind the one that is shown: it is joined in its turn.
export const queue = (request) => stream("ask", { ...request, detail: true }, (name) => name !== "queued", "answer");

// Shows a question that is at work already, from its beginning on.
export const join = ({ job, question }, thread) =>
  follow({ question, thread, id: job }, path("jobs", job, "events", { detail: true }));

async function follow(request, address, body) {
  const mine = (shown = {});
  const tell = (name, value) => shown === mine && dispatch(name, value);
  tell("sent", request);
  try {
    await stream(address, body, tell, "answer");
  } catch (error) {
    if (error.code === "stopped") tell("stopped");
    else tell("failed", error);
  }
}

export function stop() {
  if (!isUnderWay(asking.value)) return;
  if (asking.value.id) stopJob(asking.value.id);
  shown = null;
  dispatch("stopped");
}

export async function consent(send) {
  const { id, webQuery: { query } } = asking.value;
  dispatch("consented");
  await post(path("jobs", id, "web"), { send, query }).catch((error) => dispatch("failed", error));
}

export const clear = () => dispatch("cleared");

// What the end of a server has cut off stands in its thread once there is another.
back.watch(() => isLost(asking.value) && clear());
