// The server's API: JSON by get and post, Server-Sent Events by stream. Paths are those below /api/.

export class ApiError extends Error {
  constructor(status, code, message, hint = "") {
    super(message);
    Object.assign(this, { status, code, hint });
  }
}

// path("documents", id, "place", {page: 3}) is "documents/ID/place?page=3": everything URL-encoded, null left out.
export function path(...parts) {
  const query = typeof parts.at(-1) === "object" ? parts.pop() : {};
  const kept = Object.entries(query).filter(([, value]) => value !== null && value !== undefined);
  return parts.map(encodeURIComponent).join("/") + (kept.length ? `?${new URLSearchParams(kept)}` : "");
}

export const get = (path, signal) => json(path, { signal });

export const post = (path, body = {}, signal) => json(path, posted(body, signal));

// Sends `body` and hands each event of the reply to onEvent(name, value), until the stream ends or `signal` aborts it.
// An `error` event is thrown as an ApiError, as is a stream that ends before `last` came, where that is given.
export async function stream(path, body, onEvent, signal, last = "") {
  const response = await answered(path, posted(body, signal));
  let ended = !last;
  for await (const { name, data } of events(response.body, signal)) {
    const value = data ? JSON.parse(data) : null;
    if (name === "error") throw new ApiError(200, value.code, value.message, value.hint);
    ended ||= name === last;
    onEvent(name, value);
  }
  if (!ended && !signal?.aborted) throw gone();
}

async function json(path, options) {
  const response = await answered(path, options);
  return response.json();
}

function posted(body, signal) {
  return { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal };
}

async function answered(path, options) {
  let response;
  try {
    response = await fetch(`/api/${path}`, { credentials: "same-origin", redirect: "error", ...options });
  } catch (error) {
    throw error.name === "AbortError" ? error : gone();
  }
  reached(true);
  if (response.ok) return response;
  if (response.status === 401) window.dispatchEvent(new Event("signed-out"));
  const body = await response.json().catch(() => ({}));
  const { code = String(response.status), message = response.statusText, hint = "" } = body.error || {};
  throw new ApiError(response.status, code, message || `the server answered ${response.status}`, hint);
}

function gone() {
  reached(false);
  return new ApiError(0, "unreachable", "The server does not answer any more.", "local-rag serve");
}

const watchers = new Set();
let reachable = true;

function reached(now) {
  if (now === reachable) return;
  reachable = now;
  watchers.forEach((watcher) => watcher(now));
}

// Calls watcher(reachable) whenever the server is lost or back; returns what ends that.
export function watchServer(watcher) {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

// The events of a stream: {name, data}, as the standard for Server-Sent Events reads them; comments are heartbeats.
export async function* events(body, signal) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", name = "", data = [];
  try {
    for (;;) {
      const { value, done } = await reader.read().catch((error) => {
        throw signal?.aborted ? error : gone();
      });
      if (done) return;
      const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop();
      for (const line of lines) {
        if (line === "") {
          if (data.length) yield { name: name || "message", data: data.join("\n") };
          name = "";
          data = [];
          continue;
        }
        const [, field, content] = line.match(/^([^:]*):? ?([^]*)$/);
        if (field === "event") name = content;
        else if (field === "data") data.push(content);
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
