// Markdown by defuddle, for research/benchmarks/markdown_output.py: a JSON line {"html", "url"} in, a JSON line of a string out.
// Run in a folder with the packages: npm install defuddle jsdom.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.cwd()}/`);
const { JSDOM } = require("jsdom");
const { Defuddle } = await import(new URL("node_modules/defuddle/dist/node.js", pathToFileURL(`${process.cwd()}/`)));
console.log = console.warn = console.error = () => {};
for await (const line of createInterface({ input: process.stdin })) {
  const { html, url } = JSON.parse(line);
  let markdown = "";
  try {
    const { window } = new JSDOM(html, { url });
    markdown = (await Defuddle(window.document, url, { markdown: true })).content;
    window.close();
  } catch {
    // a page on which it fails has no text
  }
  process.stdout.write(`${JSON.stringify(markdown)}\n`);
}
