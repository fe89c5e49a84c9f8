// `make editor`: puts CodeMirror and editor.js into one file, with the licences of what is in it.
import { build } from "esbuild";
import { existsSync, readFileSync } from "node:fs";

const OUT = "../../src/treadle/web/editor.js";

const { metafile } = await build({ entryPoints: ["editor.js"], bundle: true, write: false, metafile: true });
const names = new Set(Object.keys(metafile.inputs).map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]));
names.delete(undefined);

const parts = [...names].sort().map((name) => {
  const { version, license } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));
  const file = `node_modules/${name}/LICENSE`;
  if (license !== "MIT" || !existsSync(file)) throw new Error(`${name} has another licence: ${license}`);
  const text = readFileSync(file, "utf8");
  return { line: `${name} ${version}: ${/Copyright.*/.exec(text)[0]}`, rest: text.slice(text.indexOf("Permission")).trim() };
});
const banner = `/*! Made by \`make editor\` from scripts/editor; not to be edited. In it, under the MIT License, are:

${parts.map((part) => part.line).join("\n")}

${parts[0].rest}
*/`;

await build({
  entryPoints: ["editor.js"], bundle: true, minify: true, format: "iife", charset: "utf8",
  legalComments: "none", banner: { js: banner }, outfile: OUT,
});
