// Generates types with openapi-typescript, compiles them, compares them with recorded answers, and uses them on a
// running server. run.mjs BASE_URL DESCRIPTION ANSWERS FOLDER, with the environment variables of check.ts.
// ANSWERS is a file with a list of {operation, status, media, body}.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [base, description, recorded, folder] = process.argv.slice(2);
const here = import.meta.dirname;
const read = (file) => JSON.parse(readFileSync(file, "utf8"));
const write = (name, lines) => writeFileSync(join(folder, name), `${lines.join("\n")}\n`);
const fail = (message) => {
  console.error(message);
  process.exit(1);
};
const run = (...words) =>
  spawnSync(process.execPath, words, { cwd: folder, encoding: "utf8", env: { ...process.env, NO_COLOR: "1" } });
const tool = (path, ...words) => run(join(here, "node_modules", path), ...words);

mkdirSync(folder, { recursive: true });
symlinkSync(join(here, "node_modules"), join(folder, "node_modules"));
for (const file of ["package.json", "tsconfig.json", "check.ts"]) copyFileSync(join(here, file), join(folder, file));
const generated = tool("openapi-typescript/bin/cli.js", description, "--output", "schema.d.ts");
// Any warning is an error, because the tool omits the part that it warns about.
if (generated.status !== 0 || generated.stderr) fail(`openapi-typescript:\n${generated.stderr}`);

// Each operation has the same type by its path and method as by its name.
const operations = Object.entries(read(description).paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, { operationId }]) => ({ path, method, name: operationId })));
write("operations.ts", [
  'import type { operations, paths } from "./schema.js";',
  "type Is<P extends keyof paths, M extends keyof paths[P], Name extends keyof operations> =",
  "  [paths[P][M], operations[Name]] extends [operations[Name], paths[P][M]] ? true : never;",
  "export const all: Record<keyof operations, true> = {",
  ...operations.map(({ path, method, name }) => `  "${name}": true satisfies Is<"${path}", "${method}", "${name}">,`),
  "};",
]);

// The recorded answers as literals, in which TypeScript refuses members that the description lacks.
const answers = read(recorded);
const head = [
  'import type { operations } from "./schema.js";',
  'type Answers<Name extends keyof operations> = operations[Name]["responses"];',
  "type Answer<Name extends keyof operations, Status extends keyof Answers<Name>, Media extends string> =",
  "  Answers<Name>[Status] extends { content: Record<Media, infer Body> } ? Body : never;",
];
const literal = ({ operation, status, media, body }, at) =>
  `export const a${at}: Answer<"${operation}", ${status}, "${media}"> = ${JSON.stringify(body)};`;
write("answers.ts", [...head, ...answers.map(literal)]);

const compiled = tool("typescript/bin/tsc", "--pretty", "false");
const output = compiled.stdout.replace(/^answers\.ts\((\d+),\d+\)/gm, (_, line) => {
  const { operation, status } = answers[line - 1 - head.length];
  return `${operation}, ${status}`;
});
if (compiled.status !== 0) fail(`tsc:\n${[...new Set(output.split("\n"))].join("\n")}${compiled.stderr}`);

const checked = run(join("out", "check.js"), base);
if (checked.status !== 0) fail(`check.ts:\n${checked.stdout}${checked.stderr}`);
const done = `${operations.length} operations, ${answers.length} answers as described`;
console.log(`openapi-typescript: ${done}; ${checked.stdout.trim()}`);
