// Receivers as processes, and one that keeps what it was sent.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer, request } from "node:http";
import { createInterface } from "node:readline";

const started = new Set();
process.on("exit", () => started.forEach((child) => child.kill()));

/** Waits until `look` gives something, and gives it. */
export async function until(what, look, seconds = 20) {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; ) {
    const found = await look();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new assert.AssertionError({ message: `in ${seconds} seconds there was not: ${what}` });
}

/** All kinds, by name: how they are started, and by which headers they verify. */
export function kinds(root, python) {
  const of = (headers, program, ...words) => ({ headers, program, words });
  return {
    "receiver.mjs": of("service", "node", `${root}/docs/receivers/receiver.mjs`),
    "receiver.py": of("service", "python3", `${root}/docs/receivers/receiver.py`),
    "receiver.rs": of("service", `${root}/target/debug/examples/receiver`),
    "standardwebhooks for JavaScript": of("standard", "node", "standard.mjs"),
    "standardwebhooks for Python": of("standard", python, "standard.py"),
    "the rules alone": of("service", "perl", "rules.pl"),
  };
}

/** Starts one: `{name, headers, url, accepted}`, where `accepted` grows by the event ids that it prints. */
export async function start([name, { headers, program, words }], secrets) {
  const env = { ...process.env, RECEIVER_PORT: "0", WEBHOOK_SECRETS: secrets.join(",") };
  const child = spawn(program, words, { env, stdio: ["ignore", "pipe", "inherit"] });
  started.add(child);
  child.on("error", (error) => console.error(`${name}: ${error.message}`));
  const said = [];
  createInterface({ input: child.stdout }).on("line", (line) => said.push(line));
  const address = () => said[0]?.match(/^listening on (http:\/\/127\.0\.0\.1:\d+)$/)?.[1];
  const url = await until(`an address of ${name}`, address);
  return { name, headers, url, accepted: () => said.slice(1) };
}

/** Sends exactly this: `{status}`, 401 with its `code`; status 0 where the connection broke. */
export function send(url, { headers, body }) {
  return new Promise((resolve) => {
    const options = { method: "POST", headers: { ...headers, "content-length": body.length }, agent: false };
    const asked = request(url, options, async (answer) => {
      let text = "";
      try {
        for await (const chunk of answer) text += chunk;
      } catch {
        return resolve({ status: 0 });
      }
      const status = answer.statusCode;
      return resolve(status === 401 ? { status, code: JSON.parse(text).code } : { status });
    });
    asked.on("error", () => resolve({ status: 0 }));
    asked.end(body);
  });
}

/** A receiver that keeps what it is sent, and passes it on to an audience at once, as it came. */
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
