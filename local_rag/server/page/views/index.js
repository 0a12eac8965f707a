// What is indexed, from where and how far; what was skipped and why; bringing it up to date, adding, forgetting.
import { html, useEffect, useRef, useState } from "/page/html.js";
import { Dialog } from "/page/parts/dialog.js";
import { stopWork, useJob, work } from "/page/parts/index_job.js";
import { lazy } from "/page/parts/lazy.js";
import { Hint, Problem } from "/page/parts/problem.js";
import { say } from "/page/parts/say.js";
import { go, to } from "/page/router.js";

const AddFolder = lazy("/page/parts/add_folder.js");
const AT_ONCE = 200;
const NAMED = 20;
const many = (count, noun, plural = `${noun}s`) => `${count.toLocaleString()} ${count === 1 ? noun : plural}`;

export default function Index({ route, api }) {
  const index = route.query.index || null;
  const [state, setState] = useState({});
  const [forgetting, setForgetting] = useState(null);
  const [adding, setAdding] = useState(false);
  const [notes, setNotes] = useState([]);
  const [indexes, setIndexes] = useState([]);
  const job = useJob();
  const load = () => api.get(api.path("index", { index })).then((about) => setState({ about }), (error) => setState({ error }));
  const body = index ? { index } : {};
  const { about, error } = state;
  const elsewhere = about?.syncing && !job.running;
  useEffect(() => {
    load();
  }, [index, job.running]);
  useEffect(() => {
    api.get("choices").then((choices) => setIndexes(choices.indexes), () => {});
  }, []);
  useEffect(() => {
    if (!elsewhere) return;
    const timer = setTimeout(load, 1000);
    return () => clearTimeout(timer);
  }, [state]);
  const forgotten = ({ removed, kept_out, notes }) => {
    setForgetting(null);
    setNotes([`${many(removed, "file")} left the index.`, ...(kept_out.length ? [`Left out from now on: ${kept_out.join(", ")}`] : []), ...notes]);
    load();
  };
  return html`<div class="page">
    <div class="row"><h1 class="fill">Index</h1>
      ${indexes.length > 1 && html`<label class="choice">of <select value=${index || about?.index} onChange=${(event) => go("index", [], { index: event.target.value })}>${indexes.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label>`}</div>
    ${error && html`<${Problem} error=${error} retry=${load} />`}
    ${about && html`<${About} about=${about} />
      <${Work} job=${job} elsewhere=${elsewhere} exists=${about.exists} canAdd=${about.allowed.length > 0} onSync=${() => work(api, "index/sync", body)} onAdd=${() => setAdding(true)} />
      ${notes.map((note) => html`<p key=${note} class="notice" role="note">${note}</p>`)}
      ${about.roots.length > 0 && html`<${Roots} roots=${about.roots} onForget=${setForgetting} />`}
      <${Skipped} skipped=${about.skipped} />
      ${about.exists && html`<${Files} key=${`${index} ${about.last_sync} ${about.files}`} api=${api} index=${index} onForget=${setForgetting} />`}`}
    ${forgetting && html`<${Forget} api=${api} body=${body} chosen=${forgetting} onDone=${forgotten} onClose=${() => setForgetting(null)} />`}
    ${adding && html`<${AddFolder} api=${api} allowed=${about.allowed} index=${index} onClose=${() => setAdding(false)} onAdd=${(folder) => (setAdding(false), work(api, "index/add", { ...body, ...folder }))} />`}
  </div>`;
}

function About({ about }) {
  if (!about.exists) return html`<div class="card stack"><p>Nothing is indexed yet. At the terminal:</p><${Hint} text=${about.hint} /></div>`;
  const { files, pages, chunks, embedded, seconds_left, bytes, last_sync, embedder } = about;
  const counts = [many(files, "file"), ...(pages ? [many(pages, "web page")] : []), many(chunks, "passage"), size(bytes)];
  return html`<div class="card stack"><p><strong>${counts.join(" · ")}</strong></p>
    ${about.about && html`<p class="muted" dir="auto">${about.about}</p>`}
    ${embedded < chunks ? html`<label class="field">${embedded.toLocaleString()} of ${many(chunks, "passage")} are embedded; the others are matched by their words only${seconds_left ? ` (about ${minutes(seconds_left)} left)` : ""}
      <progress max=${chunks} value=${embedded}></progress></label>` : html`<p class="small muted">All passages are embedded by ${embedder}.</p>`}
    <p class="small muted">${last_sync ? `Brought up to date ${new Date(last_sync).toLocaleString()}` : "Never brought up to date"}</p></div>`;
}

function Work({ job, elsewhere, exists, canAdd, onSync, onAdd }) {
  const how = job.how || elsewhere;
  return html`<div class="stack">
    <p class="row"><button class="button primary" disabled=${!exists || job.running || elsewhere} onClick=${onSync}>Bring up to date</button>
      ${canAdd && html`<button class="button" disabled=${job.running || elsewhere} onClick=${onAdd}>Add a folder</button>`}
      ${job.running && html`<button class="button danger" onClick=${stopWork}>Stop</button>`}</p>
    ${(job.running || elsewhere) && html`<label class="field"><bdi>${how?.line || "Beginning…"}</bdi><progress max="1" value=${how?.share ?? undefined}></progress></label>`}
    ${job.running && job.notes.map((note) => html`<p key=${note} class="small muted">${note}</p>`)}
    ${job.error && html`<${Problem} error=${job.error} />`}
    ${job.report && html`<${Report} report=${job.report} />`}
  </div>`;
}

function Report({ report }) {
  const counts = ["new", "updated", "moved", "removed", "unchanged"].filter((name) => report[name]).map((name) => `${report[name].toLocaleString()} ${name}`);
  return html`<div class="card stack" role="status"><p><strong>${counts.join(", ") || "Nothing has changed"}</strong> <span class="muted">in ${minutes(report.seconds)}; ${many(report.embedded, "passage")} embedded</span></p>
    ${report.removed_files.length > 0 && html`<details><summary>No longer in the index</summary><ul>${report.removed_files.map((label) => html`<li key=${label}><bdi>${label}</bdi></li>`)}</ul></details>`}
    ${report.kept.length > 0 && html`<p class="small">Not looked into, so what was indexed is kept:</p><${Reasons} skipped=${report.kept} />`}</div>`;
}

function Roots({ roots, onForget }) {
  return html`<section class="stack"><h2>From where</h2><ul class="list">${roots.map((root) => html`<li key=${root.file_id} class="row"><span class="fill"><bdi>${root.label}</bdi> <span class="muted small">${many(root.files, "file")}${root.follow_links ? ", following links" : ""}${root.secrets ? ", with secrets" : ""}${root.excludes.length ? `, without ${root.excludes.join(", ")}` : ""}</span></span>
    ${!root.there && html`<span class="badge warn">not there now</span>`}
    <button class="button quiet small danger" onClick=${() => onForget({ ids: [root.file_id], label: root.label, root: true })}>Forget<span class="unseen"> ${root.label}</span></button></li>`)}</ul></section>`;
}

function Skipped({ skipped }) {
  if (!skipped.length) return null;
  return html`<section class="stack"><h2>Skipped <span class="badge warn">${skipped.length.toLocaleString()}</span></h2><${Reasons} skipped=${skipped} /></section>`;
}

function Reasons({ skipped }) {
  const groups = new Map();
  for (const file of skipped) groups.set(file.reason, [...(groups.get(file.reason) || []), file]);
  return html`<ul class="list">${[...groups].map(([reason, files]) => html`<li key=${reason} class="stack">
    <p><strong><bdi>${reason}</bdi></strong> <span class="muted small">${many(files.length, "file")}${files.every((file) => file.partly) ? ", the rest of each is indexed" : ""}</span></p>
    ${files[0].fix && html`<${Hint} text=${files[0].fix} />`}
    <ul class="small muted">${files.slice(0, NAMED).map(({ label }) => html`<li key=${label}><bdi>${label}</bdi></li>`)}${files.length > NAMED && html`<li>and ${(files.length - NAMED).toLocaleString()} more</li>`}</ul></li>`)}</ul>`;
}

function Files({ api, index, onForget }) {
  const [filter, setFilter] = useState("");
  const [state, setState] = useState({ files: [] });
  const [chosen, setChosen] = useState(new Map());
  const going = useRef(null);
  const load = (cursor) => {
    going.current?.abort();
    const { signal } = (going.current = new AbortController());
    api.get(api.path("files", { index, filter: filter || null, cursor, limit: AT_ONCE }), signal).then(
      (found) => {
        setState({ ...found, files: cursor ? [...state.files, ...found.files] : found.files });
        if (filter) say(many(found.matching, "file"));
      },
      (error) => signal.aborted || setState({ ...state, error }),
    );
  };
  useEffect(() => {
    const timer = setTimeout(() => load(0), filter ? 120 : 0);
    return () => clearTimeout(timer);
  }, [filter]);
  const choose = (file) => {
    const next = new Map(chosen);
    if (!next.delete(file.file_id)) next.set(file.file_id, file.label);
    setChosen(next);
  };
  return html`<section class="stack"><div class="row"><h2 class="fill">Files</h2>
      <input type="search" aria-label="Filter the files" placeholder="Filter by name, title or author" value=${filter} onInput=${(event) => setFilter(event.target.value)} /></div>
    ${state.error && html`<${Problem} error=${state.error} retry=${() => load(0)} />`}
    <p class="row small muted"><span class="fill">${state.total !== undefined && (filter ? `${state.matching.toLocaleString()} of ${many(state.total, "file")}` : many(state.total, "file"))}</span>
      ${chosen.size > 0 && html`<button class="button small danger" onClick=${() => onForget({ ids: [...chosen.keys()], label: chosen.size === 1 ? [...chosen.values()][0] : many(chosen.size, "file") })}>Forget ${many(chosen.size, "file")}</button>`}</p>
    <ul class="list files">${state.files.map((file) => html`<${File} key=${file.file_id} file=${file} chosen=${chosen.has(file.file_id)} onChoose=${() => choose(file)} />`)}</ul>
    ${state.cursor && html`<p><button class="button" onClick=${() => load(state.cursor)}>Show more</button></p>`}
    ${state.total !== undefined && !state.files.length && html`<p class="empty">No file has these words in its name, title or author.</p>`}</section>`;
}

function File({ file, chosen, onChoose }) {
  const facts = [file.title, file.author, file.date].filter(Boolean).join(" · ");
  const numbers = [size(file.size), many(file.chunks, "passage"), file.modified && new Date(file.modified * 1000).toLocaleDateString()].filter(Boolean).join(" · ");
  return html`<li class="row"><input type="checkbox" aria-label=${`Choose ${file.label}`} checked=${chosen} onChange=${onChoose} />
    <span class="fill"><a href=${to("file", [file.file_id])}><bdi>${file.label}</bdi></a>${facts && html` <span class="muted small"><bdi>${facts}</bdi></span>`}
      ${file.warnings.map((warning) => html`<span key=${warning} class="badge warn"><bdi>${warning}</bdi></span>`)}
      ${file.embedded < file.chunks && html`<span class="badge">${file.embedded.toLocaleString()} embedded</span>`}</span>
    <span class="muted small">${numbers}</span></li>`;
}

function Forget({ api, body, chosen, onDone, onClose }) {
  const [keepOut, setKeepOut] = useState(true);
  const [error, setError] = useState(null);
  const forget = () => api.post("index/forget", { ...body, files: chosen.ids, keep_out: keepOut }).then(onDone, setError);
  return html`<${Dialog} title="Take this out of the index?" onClose=${onClose}>
    <p><strong><bdi>${chosen.label}</bdi></strong></p>
    <p>Its text and everything made of it leave the index. The files themselves stay as they are.${chosen.root ? " To index the folder again, name it at the terminal: local-rag index FOLDER." : ""}</p>
    ${!chosen.root && html`<label class="row"><input type="checkbox" checked=${keepOut} onChange=${(event) => setKeepOut(event.target.checked)} />Leave it out from now on, also when the index is brought up to date</label>`}
    ${error && html`<${Problem} error=${error} />`}
    <p class="row"><button class="button danger" onClick=${forget}>Forget</button><button class="button" onClick=${onClose}>Cancel</button></p>
  <//>`;
}

function size(bytes) {
  const unit = bytes < 1e3 ? 0 : bytes < 1e6 ? 1 : bytes < 1e9 ? 2 : 3;
  return `${(bytes / 1000 ** unit).toFixed(unit ? 1 : 0)} ${["B", "kB", "MB", "GB"][unit]}`;
}

const minutes = (seconds) => (seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} minutes`);
