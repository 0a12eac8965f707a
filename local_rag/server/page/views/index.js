// What is indexed, from where and how far; what was skipped and why; bringing it up to date, adding, forgetting.
import { get, path, post, stream } from "/page/api.js";
import { html, useEffect, useRef, useState } from "/page/html.js";
import { Dialog } from "/page/parts/dialog.js";
import { Icon } from "/page/parts/icon.js";
import { IndexChoice } from "/page/parts/index_choice.js";
import { Hint, Problem } from "/page/parts/problem.js";
import { say } from "/page/parts/say.js";
import { go, to } from "/page/router.js";

const AT_ONCE = 200;
const NAMED = 20;
const many = (count, noun) => `${count.toLocaleString()} ${noun}${count === 1 ? "" : "s"}`;
const size = (bytes) => {
  const unit = bytes < 1e3 ? 0 : bytes < 1e6 ? 1 : bytes < 1e9 ? 2 : 3;
  return `${(bytes / 1000 ** unit).toFixed(unit && 1)} ${["B", "kB", "MB", "GB"][unit]}`;
};
const joined = (parts, sign = " · ") => parts.filter(Boolean).join(sign);

// The work that this page has begun goes on while one looks at other views.
let job = {};
let leaving = null;
const watchers = new Set();

const tell = (change) => {
  job = { ...job, ...change };
  watchers.forEach((watcher) => watcher(job));
};

// {running, how, note, report, error}
function useJob() {
  const [state, setState] = useState(job);
  useEffect(() => {
    watchers.add(setState);
    setState(job);
    return () => watchers.delete(setState);
  }, []);
  return state;
}

async function work(name, body) {
  leaving = new AbortController();
  tell({ running: true, how: null, note: "", report: null, error: null });
  const events = { progress: (how) => tell({ how }), note: ({ text }) => tell({ note: text }), report: (report) => tell({ report }) };
  try {
    await stream(`index/${name}`, body, (name, value) => events[name]?.(value), leaving.signal, "report");
  } catch (error) {
    if (!leaving.signal.aborted) tell({ error });
  }
  say(job.report ? "The index is up to date" : "Indexing has stopped");
  tell({ running: false });
}

export default function Index({ route }) {
  const { index } = route.query;
  const body = index ? { index } : {};
  const [{ about, error }, setState] = useState({});
  const [forgetting, setForgetting] = useState(null);
  const [adding, setAdding] = useState(false);
  const [notes, setNotes] = useState([]);
  const job = useJob();
  const load = () => void get(path("index", body)).then((about) => setState({ about }), (error) => setState({ error }));
  useEffect(load, [index, job.running]);
  useEffect(() => {
    if (!about?.syncing || job.running) return;
    const timer = setTimeout(load, 1000);
    return () => clearTimeout(timer);
  }, [about]);
  const forgotten = ({ removed, kept_out, notes }) => {
    setForgetting(null);
    setNotes([`${many(removed, "file")} left the index.`, ...(kept_out.length ? [`Left out from now on: ${kept_out.join(", ")}`] : []), ...notes]);
    load();
  };
  const begin = (name, folder) => (setAdding(false), work(name, { ...body, ...folder }));
  return html`<div class="page">
    <div class="row"><h1 class="fill">Index</h1><${IndexChoice} value=${index} onChange=${(index) => go("index", [], { index })} /></div>
    ${error && html`<${Problem} error=${error} retry=${load} />`}
    ${about && html`<${About} about=${about} />
      <${Work} job=${job} about=${about} onSync=${() => begin("sync")} onAdd=${() => setAdding(true)} />
      ${notes.map((note) => html`<p class="notice" role="note">${note}</p>`)}
      ${about.roots.length > 0 && html`<h2>From where</h2><ul class="list">${about.roots.map((root) => html`<${Root} root=${root} onForget=${setForgetting} />`)}</ul>`}
      ${about.skipped.length > 0 && html`<h2>Skipped <span class="badge warn">${about.skipped.length}</span></h2><${Reasons} files=${about.skipped} />`}
      ${about.exists && html`<${Files} key=${`${index} ${about.last_sync} ${about.files}`} index=${index} onForget=${setForgetting} />`}`}
    ${forgetting && html`<${Forget} body=${body} chosen=${forgetting} onDone=${forgotten} onClose=${() => setForgetting(null)} />`}
    ${adding && html`<${AddFolder} allowed=${about.allowed} index=${index} onClose=${() => setAdding(false)} onAdd=${(folder) => begin("add", folder)} />`}
  </div>`;
}

function About({ about }) {
  const { exists, hint, files, pages, chunks, embedded, seconds_left, bytes, last_sync, embedder } = about;
  if (!exists) return html`<div class="card stack"><p>Nothing is indexed yet. At the terminal:</p><${Hint} text=${hint} /></div>`;
  const waiting = embedded < chunks;
  return html`<div class="card stack"><p><strong>${joined([many(files, "file"), pages > 0 && many(pages, "web page"), many(chunks, "passage"), size(bytes)])}</strong></p>
    <p class="muted" dir="auto">${about.about}</p>
    ${waiting && html`<label class="field">${embedded.toLocaleString()} of ${many(chunks, "passage")} are embedded; the others are matched by their words only${seconds_left && `, about ${time(seconds_left)} left`}<progress max=${chunks} value=${embedded}></progress></label>`}
    <p class="small muted">${joined([!waiting && `all passages are embedded by ${embedder}`, last_sync && `brought up to date ${new Date(last_sync).toLocaleString()}`])}</p></div>`;
}

function Work({ job, about, onSync, onAdd }) {
  const { running, how, note, report, error } = job;
  const going = running || about.syncing;
  const line = (running && how) || about.syncing;
  return html`<p class="row"><button class="button primary" disabled=${!about.exists || going} onClick=${onSync}>Bring up to date</button>
      ${about.allowed.length > 0 && html`<button class="button" disabled=${going} onClick=${onAdd}>Add a folder</button>`}
      ${running && html`<button class="button danger" onClick=${() => leaving.abort()}>Stop</button>`}</p>
    ${going && html`<label class="field"><bdi>${line?.line || "Beginning…"}</bdi><progress value=${line?.share ?? undefined}></progress>${note}</label>`}
    ${error && html`<${Problem} error=${error} />`}
    ${report && html`<p class="card" role="status"><strong>${counts(report) || "Nothing has changed"}</strong> <span class="muted">in ${time(report.seconds)}; ${many(report.embedded, "passage")} embedded</span></p>`}`;
}

const counts = (report) => joined(["new", "updated", "moved", "removed", "unchanged"].map((name) => report[name] > 0 && `${report[name].toLocaleString()} ${name}`), ", ");

function Root({ root, onForget }) {
  const { file_id, label, files, excludes, there } = root;
  const facts = joined([many(files, "file"), excludes.length > 0 && `without ${excludes.join(", ")}`], ", ");
  return html`<li class="row"><span class="fill"><bdi>${label}</bdi> <span class="muted small">${facts}</span></span>
    ${!there && html`<span class="badge warn">not there now</span>`}
    <button class="button quiet small danger" aria-label=${`Forget ${label}`} onClick=${() => onForget({ ids: [file_id], label, root: true })}>Forget</button></li>`;
}

function Reasons({ files }) {
  const groups = new Map();
  for (const file of files) groups.set(file.reason, groups.get(file.reason) || []).get(file.reason).push(file);
  return html`<ul class="list">${[...groups].map(([reason, files]) => html`<li class="stack">
    <p><strong><bdi>${reason}</bdi></strong> <span class="muted small">${many(files.length, "file")}${files.every((file) => file.partly) && ", the rest of each is indexed"}</span></p>
    ${files[0].fix && html`<${Hint} text=${files[0].fix} />`}
    <ul class="small muted">${files.slice(0, NAMED).map(({ label }) => html`<li><bdi>${label}</bdi></li>`)}${files.length > NAMED && html`<li>and ${files.length - NAMED} more</li>`}</ul></li>`)}</ul>`;
}

function Files({ index, onForget }) {
  const [filter, setFilter] = useState("");
  const [{ files = [], total, matching, cursor, error }, setState] = useState({});
  const [chosen, setChosen] = useState(new Map());
  const going = useRef(null);
  const load = (cursor) => {
    going.current?.abort();
    const { signal } = (going.current = new AbortController());
    get(path("files", { index, filter, cursor, limit: AT_ONCE }), signal).then(
      (found) => {
        setState({ ...found, files: cursor ? [...files, ...found.files] : found.files });
        if (filter) say(many(found.matching, "file"));
      },
      (error) => signal.aborted || setState({ error }),
    );
  };
  useEffect(() => {
    const timer = setTimeout(() => load(0), filter ? 120 : 0);
    return () => clearTimeout(timer);
  }, [filter]);
  const choose = ({ file_id, label }) => {
    const next = new Map(chosen);
    if (!next.delete(file_id)) next.set(file_id, label);
    setChosen(next);
  };
  const count = many(chosen.size, "file");
  return html`<div class="row"><h2 class="fill">Files</h2>
      <input type="search" aria-label="Filter the files" placeholder="Name, title or author" value=${filter} onInput=${(event) => setFilter(event.target.value)} /></div>
    ${error && html`<${Problem} error=${error} retry=${() => load(0)} />`}
    <p class="row small muted"><span class="fill">${total >= 0 && (filter ? `${matching.toLocaleString()} of ` : "") + many(total, "file")}</span>
      ${chosen.size > 0 && html`<button class="button small danger" onClick=${() => onForget({ ids: [...chosen.keys()], label: chosen.size === 1 ? [...chosen.values()][0] : count })}>Forget ${count}</button>`}</p>
    <ul class="list files">${files.map((file) => html`<${File} key=${file.file_id} file=${file} chosen=${chosen.has(file.file_id)} onChoose=${() => choose(file)} />`)}</ul>
    ${cursor && html`<p><button class="button" onClick=${() => load(cursor)}>Show more</button></p>`}`;
}

function File({ file, chosen, onChoose }) {
  const { file_id, label, title, author, date, chunks, modified, warnings } = file;
  return html`<li class="row"><input type="checkbox" aria-label=${`Choose ${label}`} checked=${chosen} onChange=${onChoose} />
    <span class="fill"><a href=${to("file", [file_id])}><bdi>${label}</bdi></a> <bdi class="muted small">${joined([title, author, date])}</bdi>
      ${warnings.map((warning) => html` <span class="badge warn"><bdi>${warning}</bdi></span>`)}</span>
    <span class="muted small">${joined([size(file.size), many(chunks, "passage"), modified && new Date(modified * 1000).toLocaleDateString()])}</span></li>`;
}

function Forget({ body, chosen, onDone, onClose }) {
  const [keepOut, setKeepOut] = useState(true);
  const [error, setError] = useState(null);
  const forget = () => post("index/forget", { ...body, files: chosen.ids, keep_out: keepOut }).then(onDone, setError);
  return html`<${Dialog} title="Take this out of the index?" onClose=${onClose}>
    <p><strong><bdi>${chosen.label}</bdi></strong></p>
    <p>Its text leaves the index; the files stay as they are.${chosen.root && " To index the folder again: local-rag index FOLDER."}</p>
    ${!chosen.root && html`<label class="row"><input type="checkbox" checked=${keepOut} onChange=${(event) => setKeepOut(event.target.checked)} />Leave it out from now on</label>`}
    ${error && html`<${Problem} error=${error} />`}
    <p class="row"><button class="button danger" onClick=${forget}>Forget</button><button class="button" onClick=${onClose}>Cancel</button></p><//>`;
}

// Choosing a folder below one that a person named at the terminal.
function AddFolder({ allowed, index, onAdd, onClose }) {
  const [place, setPlace] = useState({ root: allowed[0].file_id, below: "" });
  const [{ label = "…", folders, more, error }, setState] = useState({});
  const { root, below } = place;
  useEffect(() => {
    setState({});
    get(path("index", "folders", { root, below, index })).then(setState, (error) => setState({ error }));
  }, [root, below]);
  const enter = (name, below, icon, badge) => html`<li class="row"><button class="button quiet" onClick=${() => setPlace({ root, below })}><${Icon} name=${icon} /><bdi>${name}</bdi></button>${badge}</li>`;
  return html`<${Dialog} title="Add a folder" onClose=${onClose}>
    ${allowed.length > 1 && html`<label class="field">Below<select value=${root} onChange=${(event) => setPlace({ root: event.target.value, below: "" })}>
      ${allowed.map(({ file_id, label }) => html`<option value=${file_id}>${label}</option>`)}</select></label>`}
    <p><strong><bdi>${label}</bdi></strong></p>
    ${error && html`<${Problem} error=${error} />`}
    <ul class="list folders">${below && enter("The folder above", below.split("/").slice(0, -1).join("/"), "up")}
      ${folders?.map(({ name, below, indexed }) => enter(name, below, "index", indexed && html`<span class="badge good">indexed</span>`))}
      ${more > 0 && html`<li class="muted">and ${more} more</li>`}</ul>
    <p class="muted small">Nothing is copied. At the terminal, other places: local-rag serve --root FOLDER.</p>
    <p class="row"><button class="button primary" disabled=${!folders} onClick=${() => onAdd(place)}>Index this folder</button>
      <button class="button" onClick=${onClose}>Cancel</button></p><//>`;
}

const time = (seconds) => (seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} minutes`);
