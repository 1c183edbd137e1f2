// Starts receivers as processes, and a recorder that keeps its deliveries.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer, request } from "node:http";
import { createInterface } from "node:readline";

const started = new Set();
process.on("exit", () => started.forEach((child) => child.kill()));

/** Waits until `look` returns a truthy value, and returns it. */
export async function until(what, look, seconds = 20) {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; ) {
    const found = await look();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new assert.AssertionError({ message: `not in ${seconds} seconds: ${what}` });
}

/** Returns all kinds of receivers by name: `{headers, program, words}`, where `headers` names the set to verify. */
export function kinds(root, python) {
  const kind = (headers, program, ...words) => ({ headers, program, words });
  return {
    "receiver.mjs": kind("service", "node", `${root}/docs/receivers/receiver.mjs`),
    "receiver.py": kind("service", "python3", `${root}/docs/receivers/receiver.py`),
    "receiver.rs": kind("service", `${root}/target/debug/examples/receiver`),
    "standardwebhooks for JavaScript": kind("standard", "node", "standard.mjs"),
    "standardwebhooks for Python": kind("standard", python, "standard.py"),
    "rules.pl": kind("service", "perl", "rules.pl"),
  };
}

/** Starts a receiver: `{name, headers, url, accepted}`, where `accepted()` lists the event IDs that it printed. */
export async function start([name, { headers, program, words }], secrets) {
  const env = { ...process.env, RECEIVER_PORT: "0", WEBHOOK_SECRETS: secrets.join(",") };
  const child = spawn(program, words, { env, stdio: ["ignore", "pipe", "inherit"] });
  started.add(child);
  child.on("error", (error) => console.error(`${name}: ${error.message}`));
  const lines = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  const address = () => lines[0]?.match(/^listening on (http:\/\/127\.0\.0\.1:\d+)$/)?.[1];
  const url = await until(`the address of ${name}`, address);
  return { name, headers, url, accepted: () => lines.slice(1) };
}

/** Sends a delivery: `{status}`, with the problem's `code` for 401; status 0 if the connection broke. */
export function send(url, { headers, body }) {
  return new Promise((resolve) => {
    const options = { method: "POST", headers: { ...headers, "content-length": body.length }, agent: false };
    const outgoing = request(url, options, async (answer) => {
      let text = "";
      try {
        for await (const chunk of answer) text += chunk;
      } catch {
        return resolve({ status: 0 });
      }
      const status = answer.statusCode;
      return resolve(status === 401 ? { status, code: JSON.parse(text).code } : { status });
    });
    outgoing.on("error", () => resolve({ status: 0 }));
    outgoing.end(body);
  });
}

/** Starts a receiver that keeps each delivery and forwards it unchanged to its audience. */
export function recorder() {
  const kept = [];
  const it = { kept, audience: [] };
  const server = createServer(async (incoming, response) => {
    const chunks = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const { host, connection, "content-length": length, ...headers } = incoming.headers;
    const copy = { headers, body: Buffer.concat(chunks) };
    assert.equal(Number(length), copy.body.length);
    copy.answers = await Promise.all(it.audience.map(async (one) => [one, await send(one.url, copy)]));
    kept.push(copy);
    response.writeHead(204).end();
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => {
      server.unref();
      resolve(Object.assign(it, { url: `http://127.0.0.1:${server.address().port}/` }));
    });
  });
}
