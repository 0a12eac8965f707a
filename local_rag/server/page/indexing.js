// What the server works on besides questions, as far as this page follows it; it goes on while one looks elsewhere.
import { path, post, stream } from "./api.js";
import { say, shared } from "./html.js";

const PIECE = 600_000; // bytes of a file that are sent at once

// {running, id, kind, index, at, notes, report, error}
export const job = shared({ kind: "index", notes: [] });

export const BUSY = { message: "other work goes on here", hint: "drop the files again when it has ended" };

const tell = (change) => job.set({ ...job.value, ...change });
const note = (text) => tell({ notes: [...job.value.notes, text] });

const EVENTS = {
  begun: ({ id, index }) => tell({ id, index }),
  progress: (at) => tell({ at }),
  note: ({ text }) => note(text),
  report: (report) => tell({ report }),
};

// Begins a job, or without a body follows one that is there; its kind is the first part of the address that begins it.
export async function follow(address, body, notes = [], kind = address.split("/")[0]) {
  job.set({ running: true, notes, kind });
  try {
    await stream(address, body, (name, value) => EVENTS[name]?.(value), "report");
  } catch (error) {
    if (error.code === "stopped") note("Stopped. What was done so far is kept.");
    else tell({ error });
  }
  tell({ running: false, ...(job.value.report && { notes }) }); // what was said meanwhile is of no use afterwards
  say(job.value.report ? "It is done" : "It has stopped");
}

export const join = ({ id, kind }) => follow(path("jobs", id, "events"), undefined, [], kind);

// Copies files to the server piece by piece, and indexes the copies; what cannot be copied is said. The copies that are
// indexed by then, {file_id, label}.
export async function take(files, index) {
  const notes = [];
  const copies = [];
  for (const file of files) {
    job.set({ running: true, kind: "index", notes, at: { line: `Copying ${file.name}` } });
    await copy(file, index).then((copy) => copies.push(copy), (error) => notes.push(`${file.name}: ${error.message}`));
  }
  if (!copies.length) job.set({ running: false, kind: "index", notes });
  else await follow("index/add", { root: "dropped", ...(index && { index }) }, notes);
  return job.value.report ? copies : [];
}

async function copy(file, index) {
  const upload = crypto.randomUUID().replaceAll("-", "");
  for (let at = 0; at === 0 || at < file.size; at += PIECE) {
    const data = await base64(file.slice(at, at + PIECE));
    const last = at + PIECE >= file.size;
    const piece = { name: file.name, upload, at, data, last, ...(index && { index }) };
    const { name, file_id } = await post("index/drop", piece);
    if (last) return { file_id, label: name };
  }
}

const base64 = (blob) => new Promise((done, failed) => {
  const reader = new FileReader();
  reader.onload = () => done(reader.result.split(",", 2)[1] || "");
  reader.onerror = () => failed(new Error("it cannot be read; for a folder: Choose a folder"));
  reader.readAsDataURL(blob);
});
