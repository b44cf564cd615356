"use strict";
// The labelling page. The state of a page is one label per block; every change sends all labels, so that the server
// always has a complete page.

const CONTENT = new Set(["main", "heading", "supplement"]);
const UNSURE = [0.25, 0.75];
const $ = (id) => document.getElementById(id);

let pages = [];
let names = [];
let current = null;
let labels = [];
let history = [];
let first = 0; // first block of the selection
let level = 0; // how far the selection has been widened
let dragged = null;
let pending = Promise.resolve();
let waiting = 0; // changes that the server has not confirmed
let conflict = false; // whether the labels were changed elsewhere, so that nothing is saved before a choice

function say(text, failed = false) {
  $("state").textContent = text;
  $("state").className = failed ? "failed" : "";
}

async function ask(address, change) {
  const options = change && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(change) };
  const answer = await fetch(address, options);
  if (!answer.ok) throw Object.assign(new Error(await answer.text()), { status: answer.status });
  return answer.json();
}

function spans(block) {
  return document.querySelectorAll(`#page [data-block="${block}"]`);
}

function selection() {
  const ranges = current.ranges[first] || [[0, -1]]; // a page without text has no blocks
  return ranges[Math.min(level, ranges.length - 1)];
}

function paint(low, high) {
  for (let block = low; block <= high; block += 1) {
    for (const span of spans(block)) {
      span.dataset.label = labels[block];
      span.title = `${labels[block]} · score ${current.scores[block]}`;
      span.classList.toggle("unsure", current.scores[block] > UNSURE[0] && current.scores[block] < UNSURE[1]);
    }
  }
}

function mark(scroll = false) {
  for (const span of document.querySelectorAll(".selected")) span.classList.remove("selected");
  if (!labels.length) return;
  const [low, high] = selection();
  for (let block = low; block <= high; block += 1) for (const span of spans(block)) span.classList.add("selected");
  if (scroll) spans(first)[0]?.scrollIntoView({ block: "center" });
}

function listed() {
  $("pages").replaceChildren(...pages.map((page) => {
    const option = new Option(`${{ done: "✓ ", unfinished: "… " }[page.state] || ""}${page.title || page.id}${page.note && ` · ${page.note}`}`, page.id);
    option.selected = current !== null && page.id === current.id;
    return option;
  }));
}

function choose(open) {
  conflict = open;
  $("conflict").hidden = !open;
  if (open) $("theirs").focus();
}

// Replaces labels that were changed elsewhere since this page was loaded.
async function replace() {
  try {
    current.version = (await ask(`/api/page?id=${encodeURIComponent(current.id)}`)).version;
  } catch (error) {
    say(`not saved: ${error.message}`, true);
    return;
  }
  choose(false);
  $("page").focus({ preventScroll: true });
  await save(false);
}

function save(done) {
  if (conflict) return Promise.resolve(false);
  const shown = current;
  const change = { id: current.id, labels: [...labels], done };
  const page = pages.find((item) => item.id === change.id);
  say("saving …");
  waiting += 1;
  pending = pending.then(() => ask("/api/page", { ...change, version: shown.version })).then((answer) => {
    waiting -= 1;
    shown.version = answer.version;
    page.state = answer.state;
    listed();
    if (waiting === 0) say("saved");
    return true;
  }).catch((error) => {
    waiting -= 1;
    say(`not saved: ${error.message}`, true);
    if (error.status === 409 && shown === current) choose(true);
    return false;
  });
  return pending;
}

function put(low, high, label) {
  const changed = labels.slice(low, high + 1).some((old) => old !== label);
  if (!changed) return;
  history.push([...labels]);
  labels.fill(label, low, high + 1);
  paint(low, high);
  save(false);
}

function toggled(label) {
  return CONTENT.has(label) ? "other" : "main";
}

function undo() {
  if (!history.length) { say("nothing to undo"); return; }
  labels = history.pop();
  paint(0, labels.length - 1);
  save(false);
}

async function open(id) {
  await pending;
  say("loading …");
  try {
    current = await ask(`/api/page?id=${encodeURIComponent(id)}`);
  } catch (error) {
    say(error.message, true);
    return;
  }
  choose(false);
  labels = current.labels;
  history = [];
  first = 0;
  level = 0;
  $("page").innerHTML = current.html; // sanitised by the server; the content security policy allows no script either
  paint(0, labels.length - 1);
  mark();
  listed();
  window.scrollTo(0, 0);
  $("page").focus({ preventScroll: true });
  const proposal = labels.length ? "labels proposed by the model" : "no text to label";
  const place = pages.findIndex((page) => page.id === id);
  say([`${place + 1} of ${pages.length}`, pages[place].note, current.state === "open" ? proposal : current.state].filter(Boolean).join(" · "));
}

async function finish() {
  if (current === null || !(await save(true))) return;
  const place = pages.findIndex((page) => page.id === current.id);
  const next = [...pages.slice(place + 1), ...pages.slice(0, place)].find((page) => page.state !== "done");
  if (next) await open(next.id); else say("all pages are done");
}

function move(step) {
  first = Math.max(0, Math.min(labels.length - 1, first + step));
  level = 0;
  mark(true);
}

function nextUnsure() {
  const found = current.scores.findIndex((score, block) => block > first && score > UNSURE[0] && score < UNSURE[1]);
  if (found < 0) say("no uncertain block below"); else move(found - first);
}

function blockAt(event) {
  const target = event.target instanceof Element ? event.target.closest("[data-block]") : null;
  return target === null ? null : Number(target.dataset.block);
}

function pressed(event) {
  const block = blockAt(event);
  // A touch may be the start of scrolling; a tap sends a click later.
  if (block === null || event.button !== 0 || (event.pointerType === "touch") !== (event.type === "click")) return;
  event.preventDefault();
  $("page").focus({ preventScroll: true });
  first = block;
  level = event.shiftKey ? 1 : 0;
  mark();
  const [low, high] = selection();
  const label = toggled(labels[block]);
  put(low, high, label);
  dragged = event.shiftKey || event.type === "click" ? null : { start: block, label };
}

function moved(event) {
  if (dragged === null || event.buttons !== 1) { dragged = null; return; }
  const block = blockAt(event);
  if (block !== null && block !== dragged.start) {
    put(Math.min(block, dragged.start), Math.max(block, dragged.start), dragged.label);
  }
}

const KEYS = {
  ArrowDown: () => move(1), j: () => move(1), ArrowUp: () => move(-1), k: () => move(-1), n: nextUnsure, u: undo,
  w: () => { level = Math.min(level + 1, (current.ranges[first] || []).length - 1); mark(); },
  s: () => { level = Math.max(level - 1, 0); mark(); },
  " ": () => put(...selection(), toggled(labels[first])), Enter: finish,
};

function key(event) {
  if (current === null || event.altKey || event.target.closest("select, button, summary")) return;
  const chord = event.ctrlKey || event.metaKey;
  if (chord && event.key !== "z") return;
  const action = chord ? undo : KEYS[event.key];
  const number = names.findIndex((_, place) => keyOf(place) === event.key);
  if (action) action();
  else if (number >= 0) put(...selection(), names[number]);
  else return;
  event.preventDefault();
}

// Keys 1 to 9 set labels; 0 sets the last one, for text that may be content or not.
function keyOf(number) {
  return String((number + 1) % 10);
}

async function start() {
  window.history.replaceState(null, "", "/"); // the token stays in the cookie
  const found = await ask("/api/pages");
  ({ pages, labels: names } = found);
  $("labels").replaceChildren(...names.map((name, number) => {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.label = name;
    button.append(name, " ");
    const hint = document.createElement("kbd");
    hint.textContent = keyOf(number);
    button.append(hint);
    button.addEventListener("click", () => { put(...selection(), name); $("page").focus({ preventScroll: true }); });
    return button;
  }));
  $("pages").addEventListener("change", (event) => open(event.target.value));
  $("undo").addEventListener("click", undo);
  $("done").addEventListener("click", finish);
  $("theirs").addEventListener("click", () => open(current.id));
  $("mine").addEventListener("click", replace);
  $("page").addEventListener("pointerdown", pressed);
  $("page").addEventListener("click", pressed);
  $("page").addEventListener("pointermove", moved);
  window.addEventListener("pointerup", () => { dragged = null; });
  document.addEventListener("keydown", key);
  listed();
  await open(pages[0].id);
}

start().catch((error) => say(error.message, true));
