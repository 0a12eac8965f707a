// The work on the index that this page has begun: it goes on while one looks at other views.
import { useEffect, useState } from "/page/html.js";
import { say } from "/page/parts/say.js";

const IDLE = { running: false, how: null, notes: [], report: null, error: null };
let job = IDLE;
let going = null;
const watchers = new Set();

function tell(change) {
  job = { ...job, ...change };
  watchers.forEach((watcher) => watcher(job));
}

export function useJob() {
  const [state, setState] = useState(job);
  useEffect(() => {
    watchers.add(setState);
    setState(job);
    return () => watchers.delete(setState);
  }, []);
  return state;
}

export async function work(api, path, body) {
  going = new AbortController();
  tell({ ...IDLE, running: true });
  const events = {
    progress: (how) => tell({ how }),
    note: ({ text }) => tell({ notes: [...job.notes, text].slice(-5) }),
    report: (report) => tell({ report }),
  };
  try {
    await api.stream(path, body, (name, value) => events[name]?.(value), going.signal, "report");
  } catch (error) {
    if (!going.signal.aborted) tell({ error });
  }
  say(job.report ? "The index is up to date" : "Indexing has stopped");
  tell({ running: false, how: null });
}

export const stopWork = () => going?.abort();
