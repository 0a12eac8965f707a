// What is indexed and what was skipped, what can be done about each, and the file that is open beside them.
import { path, post } from "../api.js";
import { bound, html, submitted, useEffect, useLater, useRef, useState, useWindow } from "../html.js";
import { follow, job, take } from "../indexing.js";
import { AddFolder } from "../parts/add_folder.js";
import { Begin, FilePick, Progress } from "../parts/begin.js";
import { Dialog } from "../parts/dialog.js";
import DocumentPane from "../parts/document_pane.js";
import { FileList } from "../parts/file_list.js";
import { Outline } from "../parts/outline.js";
import { Hint, Problem } from "../parts/problem.js";
import { covers, TwoPanes, useEscape } from "../parts/quotes.js";
import { useReply } from "../parts/reply.js";
import { choose, IndexChoice, loadChoices } from "../parts/settings.js";
import { capital, duration, joined, many, size, Time } from "../parts/texts.js";
import { Unfinished } from "../parts/unfinished.js";
import { go, replace } from "../router.js";

const NAMED = 20;
const MOST = 200;
const NONE = { files: [] };
const OFTEN = 5000; // milliseconds between two looks at an index that is watched

export default function Index({ route: { parts: [file_id], query: { index, ...place } } }) {
  const body = index ? { index } : {};
  const [forgetting, setForgetting] = useState(null);
  const [adding, setAdding] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const [notes, setNotes] = useState([]);
  const pane = useRef(null);
  const last = job.use();
  const [{ value: about, error }, load] = useReply(path("index", body), last.running);
  const isStill = about?.exists && !about.watching; // else what changes is taken in by itself
  const [{ value: changes = NONE }, look] = useReply(isStill && path("index", "changes", body), about);
  const isOther = last.kind !== "index" || (!last.running && last.index && about && last.index !== about.index);
  const now = isOther ? { running: last.running } : last; // what was said of another index stays there
  useWindow("focus", look);
  useEffect(() => void loadChoices(), [now.running]);
  useLater(OFTEN, about?.watching && (() => document.hidden || load()), [about, document.hidden]);
  const forgotten = ({ removed, kept_out, deleted, quoting }) => {
    setForgetting(null);
    if (!job.value.running) job.set({ kind: "index", notes: [] });
    setNotes([
      `${many(removed, "file")} left the index.`,
      kept_out.length && `Left out from now on: ${kept_out.join(", ")}`,
      deleted && `${deleted} deleted with it.`,
      quoting && `${quoting} still quote it.`,
    ].filter(Boolean));
    load();
  };
  const sync = (options) => follow("index/sync", { ...body, ...options });
  const show = (name) => go("index", [], { index: name });
  const add = (folder) => {
    setAdding(false);
    follow("index/add", { ...body, ...folder }).then(() => folder.name && job.value.report && show(folder.name));
  };
  const link = () => document.querySelector(".files [aria-current]");
  const close = () => {
    const opener = link();
    replace("index", [], { index });
    opener?.focus();
  };
  useEscape({ active: file_id, close });
  useEffect(() => {
    link()?.scrollIntoView({ block: "nearest" }); // it moves as the list gets narrow
    if (file_id && covers(pane)) pane.current.focus();
  }, [file_id]);
  const askOf = (chat, files) => {
    choose(chat, { ...(index && { index }), files });
    go(chat || "ask");
  };
  const actions = (chosen) => {
    const files = Object.entries(chosen).map(([file_id, label]) => ({ file_id, label }));
    const [one, another] = files;
    const label = another ? many(files.length, "file") : one?.label;
    return one && html`<button class="small" onClick=${() => askOf("each", files)}>Ask each of them</button>
      <button class="small danger" onClick=${() => setForgetting({ ids: Object.keys(chosen), label })}>
        Remove ${many(files.length, "file")} from search</button>`;
  };
  const became = Object.fromEntries(changes.files.map((file) => [file.file_id, file.became]));
  const opened = file_id && html`<${Outline} key=${file_id} file_id=${file_id} index=${index} />
    <${DocumentPane} key=${location.hash} citation=${{ ...place, index, file_id }}
      onAsk=${(label) => askOf("", [{ file_id, label }])} onClose=${close} />`;
  return html`<${TwoPanes} pane=${pane} beside=${opened}><div class="page">
    <div class="row"><h1 class="fill">Files</h1><${IndexChoice} view="index" value=${index} /></div>
    <${Problem} error=${error} retry=${load} />
    <${Unfinished} />
    ${about && !about.exists && html`<${Begin} allowed=${about.allowed} index=${index} onIndex=${show} />`}
    ${about && html`${about.exists && html`<${About} about=${about} />
      <${Changed} changes=${changes} running=${now.running} onSync=${sync} />
      <${Work} now=${now} isOther=${isOther} about=${about} index=${index} onSync=${sync}
        onAdd=${() => setAdding(true)} onDelete=${() => setDeleting(true)} />`}
      ${notes.map((note) => html`<p class="notice" role="note">${note}</p>`)}
      <${Skipped} title="Skipped" about=${about} partly=${false} onSync=${sync} />
      <${Skipped} title="Indexed in part" about=${about} partly onSync=${sync} />
      ${about.exists && html`<${FileList} key=${`${index} ${about.last_sync} ${about.files}`} index=${index}
        about=${about} became=${became} shown=${file_id} actions=${actions} onForget=${setForgetting}
        onSync=${sync} />`}`}
    ${forgetting && html`<${Forget} body=${body} chosen=${forgetting} onDone=${forgotten}
      onClose=${() => setForgetting(null)} />`}
    ${adding && html`<${AddFolder} allowed=${about.allowed} index=${index} onAdd=${add}
      onClose=${() => setAdding(false)} />`}
    ${deleting && html`<${Delete} name=${about.index} onClose=${() => setDeleting(false)} onDone=${() => {
      setDeleting(false);
      loadChoices();
      if (index) go("index");
      else load();
    }} />`}
  </div><//>`;
}

function About({ about }) {
  const { files, pages, chunks, embedded, bytes, last_sync, embedder } = about;
  const waiting = embedded < chunks;
  const counts = [many(files, "file"), pages > 0 && many(pages, "web page"), many(chunks, "passage"), size(bytes)];
  return html`<div class="card stack"><p><strong>${joined(counts)}</strong></p>
    <p class="muted lines">${about.about}</p>
    ${waiting && html`<${Waiting} about=${about} />`}
    <p class="small">${!waiting && `All passages can be searched by meaning (embedded by ${embedder}). `}
      ${last_sync && html`Brought up to date <${Time} at=${last_sync} />.`}</p>
    ${about.watching && html`<${Watching} watching=${about.watching} />`}</div>`;
}

// The files that are other on the disk than they were when they were indexed.
function Changed({ changes: { files, counts, whole }, running, onSync }) {
  if (!files.length) return null;
  const parts = ["new", "changed", "gone"].map((became) => counts[became] && `${counts[became]} ${became}`);
  return html`<div class="notice" role="note">
    <p class="row"><span class="fill">On the disk since then: ${joined(parts, ", ")}${!whole && ", and perhaps more"}.
      </span><button class="small" disabled=${running} onClick=${() => onSync({})}>Take in the changes</button></p>
    <details><summary>Which files</summary><ul class="small">
      ${files.slice(0, MOST).map(({ label, became }) => html`<li>${capital(became)}: <bdi>${label}</bdi></li>`)}
      ${files.length > MOST && html`<li>and more</li>`}</ul></details></div>`;
}

const Watching = ({ watching: { state, changed, changed_at } }) => html`<p class="small" role="status">
    <bdi>${capital(state)}</bdi>.
    ${changed && html`Last change <${Time} at=${changed_at} />: <bdi>${changed}</bdi>.`}</p>`;

function Waiting({ about: { chunks, embedded, seconds_left } }) {
  return html`<label class="field">You can ask now; search by meaning follows
    (${Math.floor((100 * embedded) / chunks)} %${seconds_left && `, about ${duration(seconds_left)} left`})
    <progress max=${chunks} value=${embedded}></progress></label>`;
}

function Work({ now: { running, report }, isOther, about: { allowed }, index, onSync, onAdd, onDelete }) {
  const [url, setUrl] = useState("");
  const addPage = submitted(() => onSync({ url }).then(() => job.value.report && setUrl("")));
  return html`<div class="row end">
      <button class="primary" disabled=${running} onClick=${() => onSync({})}>Check for changes</button>
      ${allowed.length > 0 && html`<button disabled=${running} onClick=${onAdd}>Add a folder</button>`}
      <${FilePick} multiple label="Add files" onFiles=${(files) => take(files, index)} /><span class="fill"></span>
      <button class="quiet danger" disabled=${running} onClick=${onDelete}>Delete this index …</button></div>
    <details><summary>Add a web address</summary><form class="row end" onSubmit=${addPage}>
      <label class="field fill">The page is fetched from the web once, and kept
        <input type="url" required pattern="https?://.+" placeholder="https://" ...${bound(url, setUrl)} /></label>
      <button disabled=${running}>Fetch and index</button></form></details>
    ${!isOther && html`<${Progress} />`}
    ${report && html`<p class="card" role="status"><strong>${counts(report) || "Nothing has changed"}</strong>${" "}
      <span class="muted">in ${duration(report.seconds)}; ${many(report.embedded, "passage")} embedded</span></p>`}`;
}

function Delete({ name, onDone, onClose }) {
  const [error, setError] = useState(null);
  return html`<${Dialog} title="Delete this index?" onClose=${onClose}>
    <p><strong><bdi>${name}</bdi></strong></p>
    <p>Your files stay as they are; copies of files that you dropped, and records of questions about them, are
      deleted. Its chats stay, and ask the default index from then on.</p>
    <${Problem} error=${error} />
    <p class="row"><button class="danger" onClick=${() => post("index/delete", { index: name }).then(onDone, setError)}>
      Delete for good</button><button onClick=${onClose}>Cancel</button></p><//>`;
}

const COUNTED = ["new", "updated", "removed", "unchanged"];

const counts = (report) =>
  joined(COUNTED.map((name) => report[name] > 0 && `${report[name].toLocaleString()} ${name}`), ", ");

function Skipped({ title, about: { skipped, ocr, ocr_seconds }, partly, onSync }) {
  const files = skipped.filter((file) => file.partly === partly);
  if (!files.length) return null;
  const groups = new Map();
  for (const file of files) groups.set(file.reason, [...(groups.get(file.reason) || []), file]);
  const count = new Set(files.map((file) => file.label)).size;
  return html`<h2>${title} <span class="badge warn">${count.toLocaleString()}</span></h2>
    <ul class="list">${[...groups].map(([reason, files]) => html`
      <${SkippedGroup} key=${reason} reason=${reason} files=${files} ocr=${ocr} seconds=${ocr_seconds}
        onSync=${onSync} />`)}</ul>`;
}

// What the page does about a reason, and what is said of it before.
const READ = {
  ocr: ["Read scans", "Takes a while; what is read stays, also if you stop it."],
  retry: ["Try again", ""],
  secrets: ["Take these in, too", "They may hold passwords and keys."],
  follow_links: ["Follow these links", ""],
};

function SkippedGroup({ reason, files, ocr, seconds, onSync }) {
  const [{ action, root, fix }] = files;
  const [label, said] = READ[action] || [];
  const ofRoot = ["secrets", "follow_links"].includes(action);
  const read = () => onSync({ [action]: true, ...(ofRoot && { root }) });
  return html`<li class="stack-tight">
    <p><strong><bdi>${capital(reason)}</bdi></strong> <span class="small">${many(files.length, "file")}</span></p>
    ${action === "ocr" && !ocr
      ? html`<p class="small">What reads scans is not installed: it is the part “ocr” of local-rag.</p>`
      : label && html`<p class="row"><button class="small" onClick=${read}>${label}</button>
          <span class="small">${action === "ocr" && seconds
            ? `Takes about ${duration(seconds)}, at the pace of the last pages here.` : said}</span></p>`}
    <${Hint} hint=${fix} />
    <ul class="small">${files.slice(0, NAMED).map(({ label }) => html`<li><bdi>${label}</bdi></li>`)}
      ${files.length > NAMED && html`<li>and ${files.length - NAMED} more</li>`}</ul></li>`;
}

function Forget({ body, chosen: { ids, label, root }, onDone, onClose }) {
  const [keepOut, setKeepOut] = useState(false);
  const [quoting, setQuoting] = useState(false);
  const [error, setError] = useState(null);
  const forget = () => post("index/forget", { ...body, files: ids, keep_out: keepOut, quoting }).then(onDone, setError);
  return html`<${Dialog} title="Remove this from search?" onClose=${onClose}>
    <p><strong><bdi>${label}</bdi></strong></p>
    <p>Its text leaves the index; the files stay as they are.
      ${root && " “Add a folder” takes it in again."}</p>
    ${!root && html`<label class="row"><input type="checkbox" checked=${keepOut}
      onChange=${(event) => setKeepOut(event.target.checked)} />
      Leave it out from now on; else the next check for changes takes it in again</label>`}
    <label class="row"><input type="checkbox" checked=${quoting}
      onChange=${(event) => setQuoting(event.target.checked)} />
      Delete the chats, records and judgements that quote it, too</label>
    <${Problem} error=${error} />
    <p class="row"><button class="danger" onClick=${forget}>Remove from search</button>
      <button onClick=${onClose}>Cancel</button></p><//>`;
}
