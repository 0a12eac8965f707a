// A graph as a column from the question to the answer, with the path that a question took; the node that works is lit.
import { get, path as to } from "../api.js";
import { html, useEffect, useState } from "../html.js";
import { Facts } from "./reply.js";
import { plain } from "./verdicts.js";

const graphs = new Map();

// The drawing of the graph of a name, which is fetched once. `path` are the ids of the nodes in the order of their
// work, `running` that of the last while it works, else null.
export function Graph({ name, ...way }) {
  const [graph, setGraph] = useState(null);
  useEffect(() => {
    if (!graphs.has(name)) graphs.set(name, get(to("graphs", name)));
    graphs.get(name).then(setGraph, () => graphs.delete(name));
  }, [name]);
  if (!graph) return null;
  const steps = graph.nodes.filter(({ about }) => about).map((node) => [node.name, node.about]);
  return html`<div class="stack-tight"><${Drawing} graph=${graph} ...${way} />
    ${graph.about && html`<${Facts} title="What the steps do" facts=${[[graph.name, graph.about], ...steps]} />`}
  </div>`;
}

function Drawing({ graph, path, running, ended }) {
  const { nodes, edges, box } = laidOut(graph);
  const names = new Map(nodes.map(({ id, name }) => [id, name]));
  const known = path.filter((id) => names.has(id));
  const way = known.length ? ["__start__", ...known, ...(ended ? ["__end__"] : [])] : [];
  const steps = new Set(way.slice(1).map((id, at) => `${way[at]} ${id}`));
  const taken = ({ source, target }) => steps.has(`${source} ${target}`);
  const spoken = `${known.map((id) => names.get(id)).join(", then ") || "not begun"}${running ? "; working" : ""}`;
  const kindOf = ({ id }) => (id === running ? "running" : way.includes(id) ? "taken" : "");
  return html`<div class="scroll" tabindex="0" role="group" aria-label="The way through the graph">
    <svg class="graph" viewBox=${box.join(" ")} width=${box[2]} role="img" aria-label=${spoken}>
      <defs>${["", "taken"].map((kind) => html`<marker id=${`arrow${kind}`} class=${kind} viewBox="0 0 8 8"
        refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
        <path d="M0 0 8 4 0 8z" /></marker>`)}</defs>
      ${edges.sort((a, b) => taken(a) - taken(b)).map((edge) => html`<path d=${edge.d}
        class=${taken(edge) ? "taken" : ""} stroke-dasharray=${edge.conditional && !taken(edge) ? "4 4" : null}
        marker-end=${`url(#arrow${taken(edge) ? "taken" : ""})`} />`)}
      ${edges.map(({ text, label }) => text && html`
        <text class=${`label ${label.anchor}`} x=${label.x} y=${label.y}>${text}</text>`)}
      ${nodes.map((node) => html`<g class=${kindOf(node)}><${Box} node=${node} /></g>`)}
    </svg></div>`;
}

function Box({ node: { name, y, width, height, isEnd } }) {
  return html`<rect x=${-width / 2} y=${y - height / 2} width=${width} height=${height} rx=${isEnd ? 15 : 8} />
    <text x="0" y=${y}>${name}</text>`;
}

// Pixels: of a box, between boxes without and with a label there, between the ends of edges at a box, between lanes.
const HEIGHT = 30;
const GAP = 20;
const LABELLED_GAP = 36;
const PORT = 17;
const LANE = 12;
// Of a sign, in the font of a box and in that of a label, where fonts are wide.
const SIGN = 7.4;
const SMALL_SIGN = 6.3;

const SIDES = [1, -1];

// Every box stands in one column. An edge to the next box is straight; another goes around, down at the right side and
// up at the left, where every box that edges lead to has a lane of its own. Between the boxes and the lanes is room for
// the labels: so nothing lies over anything but an edge over an edge that it crosses.
function laidOut(graph) {
  const width = Math.max(...graph.nodes.map(({ name }) => name.length * SIGN + 24));
  const nodes = graph.nodes.map((node, row) => ({ ...node, row, width, isEnd: node.id.startsWith("__") }));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const edges = graph.edges.filter(({ source, target }) => byId.has(source) && byId.has(target)).map((edge) => {
    const [a, b] = [byId.get(edge.source), byId.get(edge.target)];
    return { ...edge, a, b, text: plain(edge.label), side: b.row === a.row + 1 ? 0 : Math.sign(b.row - a.row) };
  });
  const of = (side) => edges.filter((edge) => edge.side === side);
  stack(nodes, of);
  const ends = SIDES.map((side) => addLanes(of(side), side, width / 2));
  of(0).forEach((edge) => addStraight(edge));
  const last = nodes.at(-1);
  const [left, right] = [Math.min(...ends, -width / 2) - 6, Math.max(...ends, width / 2) + 6];
  const [top, bottom] = [-6, last.y + last.height / 2 + 6];
  return { nodes, edges, box: [left, top, right - left, bottom - top].map(Math.round) };
}

// Adds to every node where it stands and where edges end at its sides: all that lead to it at one port, those that
// leave it at one each, in the order in which they cross least.
function stack(nodes, of) {
  let top = 0;
  for (const node of nodes) {
    const outgoing = (side) => of(side).filter(({ a }) => a === node).sort((a, b) => b.b.row - a.b.row);
    const incoming = (side) => (of(side).some(({ b }) => b === node) ? [null] : []);
    node.ports = { 1: [...incoming(1), ...outgoing(1)], [-1]: [...outgoing(-1), ...incoming(-1)] };
    const most = Math.max(...SIDES.map((side) => node.ports[side].length));
    node.height = Math.max(HEIGHT, most * PORT + 4);
    node.y = top + node.height / 2;
    const isLabelled = of(0).some(({ a, text }) => a === node && text);
    top += node.height + (isLabelled ? LABELLED_GAP : GAP);
  }
}

function portOf(node, side, edge) {
  const ports = node.ports[side];
  return node.y + (ports.indexOf(edge) - (ports.length - 1) / 2) * PORT;
}

// Adds the ways of the edges at a side: where the last lane is.
function addLanes(edges, side, half) {
  const rowsTo = (target) => edges.filter(({ b }) => b === target).map(({ a }) => Math.abs(a.row - target.row));
  const reach = (target) => Math.max(...rowsTo(target));
  const targets = [...new Set(edges.map(({ b }) => b))].sort((a, b) => reach(a) - reach(b));
  const first = half + 14 + Math.max(0, ...edges.map(({ text }) => text.length * SMALL_SIGN + 8));
  for (const edge of edges) {
    const { a, b } = edge;
    const [from, to] = [portOf(a, side, edge), portOf(b, side, null)];
    const lane = side * (first + LANE * targets.indexOf(b));
    const [turn, back] = [side * 6, Math.sign(to - from) * 6];
    const behindLabel = edge.text && `h${side * 6}M${side * (half + 12 + edge.text.length * SMALL_SIGN)} ${from}`;
    edge.d = `M${side * half} ${from}${behindLabel}H${lane - turn}Q${lane} ${from} ${lane} ${from + back}`
      + `V${to - back}Q${lane} ${to} ${lane - turn} ${to}H${side * half}`;
    edge.label = { x: side * (half + 9), y: from, anchor: side > 0 ? "from" : "to" };
  }
  return side * (edges.length ? first + LANE * targets.length : half);
}

function addStraight(edge) {
  const [from, to] = [edge.a.y + edge.a.height / 2, edge.b.y - edge.b.height / 2];
  const middle = (from + to) / 2 - 3;
  edge.d = `M0 ${from}${edge.text && `V${middle - 9}M0 ${middle + 9}`}V${to}`;
  edge.label = { x: 0, y: middle, anchor: "" };
}
