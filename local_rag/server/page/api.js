// The server's API: JSON by get and post, the events of a job by stream. Paths are those below /api/.
import { shared } from "./html.js";
import { secret, signedOut } from "./session.js";

const failure = ({ message, ...about }) => Object.assign(new Error(message), about);

// path("documents", id, "place", {page: 3}) is "documents/ID/place?page=3": URL-encoded, what is not known left out.
export function path(...parts) {
  const query = typeof parts.at(-1) === "object" ? parts.pop() : {};
  const kept = Object.entries(query).filter(([, value]) => value !== "" && value != null);
  return parts.map(encodeURIComponent).join("/") + (kept.length ? `?${new URLSearchParams(kept)}` : "");
}

export const get = (path, signal) => json(path, { signal });

export const post = (path, body = {}, signal) => json(path, posted(body, signal));

// Hands each event of a job to onEvent(name, value) until its last one, or until that returns false: of a job that
// `body` begins at a path, or without a body of one that is there. An `error` is thrown with its fields, as is a
// stream that ends too early.
export async function stream(path, body, onEvent, last) {
  const response = await answered(path, body ? posted(body) : {});
  let ended = false;
  for await (const { name, value } of events(response.body)) {
    if (name === "error") throw failure(value);
    ended ||= name === last;
    if (onEvent(name, value) === false) return;
  }
  if (!ended) throw gone();
}

export const stopJob = (id) => post(path("jobs", id, "stop")).catch(() => {});

// The address of what the browser fetches by itself, with which no header is sent: the secret has signed it.
export async function signed(path) {
  const address = `/api/${path}${path.includes("?") ? "&" : "?"}`;
  const own = secret();
  if (!own) return address;
  const bytes = (text) => new TextEncoder().encode(text);
  const key = await crypto.subtle.importKey("raw", bytes(own), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const signature = new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes(address)));
  return `${address}pass=${[...signature].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

const json = async (path, options) => (await answered(path, options)).json();

function posted(body, signal) {
  return { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal };
}

async function answered(path, options) {
  const headers = { ...options.headers, "X-Local-Rag-Page": secret() };
  let response;
  try {
    response = await fetch(`/api/${path}`, { credentials: "same-origin", redirect: "error", ...options, headers });
  } catch (error) {
    throw error.name === "AbortError" ? error : gone();
  }
  reachable.set(true);
  if (response.ok) return response;
  if (response.status === 401) signedOut.set(true);
  const body = await response.json().catch(() => ({}));
  const { code = String(response.status), message = response.statusText, ...rest } = body.error || {};
  throw failure({ ...rest, code, message: message || `the server answered ${response.status}` });
}

function gone() {
  reachable.set(false);
  return failure({ code: "unreachable", message: "The server does not answer any more." });
}

// Whether the server answered last, and how often it was back since, or this browser signed in again.
export const reachable = shared(true);
export const back = shared(0);
export const isBack = () => back.set(back.value + 1);

// The events of a stream as the server writes them, {name, value}; comments are heartbeats.
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read().catch(() => {
        throw gone();
      });
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const [, name, data] = block.match(/^event: (.*)\ndata: ([^]*)$/) || [];
        if (name) yield { name, value: JSON.parse(data) };
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
