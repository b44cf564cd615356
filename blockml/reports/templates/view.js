"use strict";
// Page view: the threshold changes decisions and text, search and labels filter the blocks, and a block and its place in
// the rendered page link to each other.

const view = JSON.parse(document.getElementById("view-data").textContent);
const items = [...document.querySelectorAll("ol.blocks > .block")];
const nodes = [...document.querySelectorAll("ol.document > .node")];
const SEPARATORS = ["", " ", "\t", "\n", "\n"];
const CLOSING = [...".,;:!?)]"];
const [SPACE, CELL] = [1, 2];
const rendered = new Map();
for (const span of document.querySelectorAll(".rendered [data-block]")) {
  const block = Number(span.dataset.block);
  rendered.set(block, [...(rendered.get(block) || []), span]);
}
const element = (id) => document.getElementById(id);
let kept = view.kept.map(Boolean);

function decided(threshold) {
  const keep = (score, block) => score >= Math.fround(threshold) && !view.overruled[block];
  return view.scores.map(
    (score, block) => view.by_rule?.[block] ?? (Boolean(view.asked_for?.[block]) || keep(score, block)),
  );
}

// Text of the kept blocks, following the rules of the plain text output.
function rendition() {
  let text = "";
  let before = -1;
  kept.forEach((keep, block) => {
    if (!keep) return;
    let separator = Math.max(...view.separators.slice(before + 1, block + 1));
    if (separator <= SPACE && before + 1 < block) {
      separator = view.separators[block] < SPACE && CLOSING.includes(view.texts[block][0]) ? 0 : SPACE;
    }
    let gap = SEPARATORS[separator];
    if (view.code[block] && separator <= SPACE && before >= 0 && view.code[before]) {
      const removed = view.texts.slice(before + 1, block).join("");
      gap = removed.includes("\n") ? "\n" : removed ? " " : "";
    } else if (separator === CELL && before >= 0) {
      gap = "\t".repeat(Math.max(1, view.cells[block] - view.cells[before]));
    }
    text += (before < 0 ? "" : gap) + view.texts[block];
    before = block;
  });
  return text.replace(/^\n+|\n+$/g, "");
}

function paint() {
  kept.forEach((keep, block) => {
    for (const span of rendered.get(block) || []) span.classList.toggle("is-kept", keep);
    const item = items[block]; // long pages don't list all blocks
    if (!item) return;
    const truth = view.truth === null ? null : view.truth[block];
    item.classList.toggle("kept", keep);
    item.classList.toggle("dropped", !keep);
    item.querySelector(".decision").textContent = keep ? "kept" : "dropped";
    if (truth !== null) {
      const kind = truth === keep ? "right" : keep ? "superfluous" : "missed";
      item.classList.remove("right", "superfluous", "missed");
      item.classList.add(kind);
      const mark = item.querySelector(".agreement");
      if (mark) mark.textContent = kind === "right" ? "" : kind;
    }
  });
  const count = kept.filter(Boolean).length;
  if (element("live-count")) element("live-count").textContent = `${count} of ${kept.length} blocks`;
}

function setThreshold(value) {
  kept = decided(value);
  element("threshold-value").textContent = value.toFixed(2);
  for (const line of document.querySelectorAll(".meter s")) line.style.left = `${100 * value}%`;
  const text = rendition();
  const place = document.querySelector(".extract");
  place.textContent = text;
  place.classList.toggle("empty", text === "");
  paint();
}

function filter() {
  const words = element("search").value.toLocaleLowerCase();
  const label = element("label-filter") ? element("label-filter").value : "";
  let found = 0;
  for (const item of items) {
    const fits = item.querySelector(".text").textContent.toLocaleLowerCase().includes(words)
      && (label === "" || item.dataset.label === label);
    item.classList.toggle("filtered", !fits);
    found += fits;
  }
  element("found").textContent = words || label ? `${found} blocks` : "";
}

function focusOn(block, scrollRendered) {
  for (const old of document.querySelectorAll(".current")) old.classList.remove("current");
  const spans = rendered.get(block) || [];
  items[block]?.classList.add("current");
  for (const span of spans) span.classList.add("current");
  const node = nodes.filter(({ dataset }) => dataset.first <= block && block <= dataset.last).pop();
  node?.classList.add("current");
  if (!scrollRendered && element("as-document")?.checked) node?.scrollIntoView({ block: "center" });
  else if (scrollRendered) spans[0]?.scrollIntoView({ block: "nearest" });
  else items[block]?.scrollIntoView({ block: "center" });
}

// Contributions of families of features to the log odds of a block, as bars around zero.
function explain(details) {
  const block = Number(details.closest(".block").dataset.block);
  const rows = Object.entries(view.families).map(([name, values]) => [name, values[block]]);
  rows.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  const largest = Math.max(1, ...rows.map(([, value]) => Math.abs(value)));
  details.querySelector(".families").replaceChildren(...rows.map(([name, value]) => {
    const row = document.createElement("div");
    const bar = document.createElement("i");
    bar.className = value < 0 ? "against" : "for";
    bar.style.width = `${(50 * Math.abs(value)) / largest}%`;
    const [title, number, track] = ["b", "span", "span"].map((tag) => document.createElement(tag));
    title.textContent = name;
    number.textContent = (value > 0 ? "+" : "") + value.toFixed(2);
    number.className = "number";
    track.className = "track";
    track.append(bar);
    row.append(title, track, number);
    return row;
  }));
}

if (items.length) {
  element("search").addEventListener("input", filter);
  element("label-filter")?.addEventListener("change", filter);
  element("threshold")?.addEventListener("input", (event) => setThreshold(Number(event.target.value)));
  for (const details of document.querySelectorAll(".why")) {
    details.addEventListener("toggle", () => { if (details.open) explain(details); });
  }
  document.querySelector(".rendered")?.addEventListener("click", (event) => {
    const span = event.target.closest("[data-block]");
    if (span) focusOn(Number(span.dataset.block), false);
  });
  document.querySelector("ol.blocks").addEventListener("click", (event) => {
    const item = event.target.closest(".block");
    if (item && !event.target.closest("details")) focusOn(Number(item.dataset.block), true);
  });
  document.querySelector("ol.document")?.addEventListener("click", (event) => {
    if (event.target.closest("a")) element("as-blocks").checked = true; // the link leads to a block
    else {
      const node = event.target.closest(".node");
      if (Number(node?.dataset.first) >= 0) focusOn(Number(node.dataset.first), true);
    }
  });
  document.documentElement.classList.add("live");
  paint();
  const box = document.querySelector(".rendered"), first = box?.querySelector(".is-kept");
  if (first) box.scrollTop += first.getBoundingClientRect().top - box.getBoundingClientRect().top - 8;
}
