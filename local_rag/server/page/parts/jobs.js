// What the server works on now, in every tab, each with Stop; what is no question is followed from here.
import { back, get, stopJob } from "../api.js";
import { html, useEffect, useLater, useState, useWindow } from "../html.js";
import { job as followed, join } from "../indexing.js";
import { to } from "../router.js";
import { IconButton } from "./icon.js";
import { changes } from "./thread_list.js";

const EVERY = 3000; // milliseconds

export function Jobs() {
  const [jobs, setJobs] = useState([]);
  const [looked, setLooked] = useState(0);
  const load = () => void get("jobs").then(({ jobs }) => {
    setJobs(jobs);
    const work = jobs.find(({ kind }) => kind !== "question");
    if (work && !followed.value.running && followed.value.id !== work.id) join(work);
  }, () => {});
  useEffect(load, [looked, back.use(), changes.use()]);
  useLater(EVERY, () => document.hidden || setLooked(looked + 1), [looked, document.hidden]);
  useWindow("focus", () => setLooked(looked + 1));
  if (!jobs.length) return null;
  return html`<section class="threads jobs" aria-label="At work"><h2 class="small">At work</h2>
    <ul>${jobs.map((job) => html`<li key=${job.id}><${Job} job=${job} onStop=${load} /></li>`)}</ul></section>`;
}

// By kind how a job is called, and where it is seen.
const KINDS = {
  question: ({ question, thread }) => [question, to("ask", thread ? [thread] : [])],
  index: ({ index }) => [`Indexing ${index}`, to("index", [], { index })],
  evaluations: ({ name }) => [`Evaluation of ${name}`, to("evaluation")],
  models: ({ name }) => [`Model ${name}`, to("doctor")],
};

function Job({ job: { id, kind, state, about }, onStop }) {
  const [name, place] = KINDS[kind](about);
  return html`<a href=${place} title=${name}><bdi>${state === "waiting" ? `Waits: ${name}` : name}</bdi></a>
    <${IconButton} icon="stop" label=${`Stop: ${name}`} onClick=${() => stopJob(id).then(onStop)} />`;
}
