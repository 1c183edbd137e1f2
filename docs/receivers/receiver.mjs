// Receives signed webhooks. Listens on RECEIVER_PORT; WEBHOOK_SECRETS has the secrets, separated by commas.
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const LARGEST_BODY = 1024 * 1024;
const TOLERANCE_SECONDS = 300;
// Event IDs to remember. A service stores them in its database, together with its work.
const REMEMBERED = 10_000;

// Refuse an unset or short secret: anybody could sign with it.
const secrets = (process.env.WEBHOOK_SECRETS ?? "").split(",");
if (!secrets.every((secret) => /^whsec_[A-Za-z0-9+/]{32,}={0,2}$/.test(secret))) {
  throw new Error("WEBHOOK_SECRETS: write one or more whsec_… secrets, separated by commas");
}
const seen = new Set();

function isGenuine(headers, body) {
  const timestamp = headers["x-service-timestamp"] ?? "";
  const seconds = Number(timestamp);
  if (!Number.isFinite(seconds) || Math.abs(Date.now() / 1000 - seconds) > TOLERANCE_SECONDS) return false;
  const given = Buffer.from(headers["x-service-signature"] ?? "");
  return secrets.some((secret) => {
    // Sign the raw bytes: JSON that was parsed and serialized again differs.
    const hex = createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest("hex");
    const expected = Buffer.from(`v1=${hex}`);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

async function read(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += chunk.length;
    if (size > LARGEST_BODY) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function isNew(id) {
  if (seen.has(id)) return false;
  seen.add(id);
  if (seen.size > REMEMBERED) seen.delete(seen.values().next().value);
  return true;
}

async function receive(request) {
  if (request.method !== "POST") return [405, { error: "send POST" }];
  const body = await read(request);
  if (!body) return [413, { error: "the body is too large" }];
  if (!isGenuine(request.headers, body)) {
    return [401, { error: "the signature does not verify", code: "WEBHOOK_INVALID_SIGNATURE" }];
  }
  // Take the ID from the body: X-Service-Event-Id is not signed.
  const { id } = JSON.parse(body);
  if (isNew(id)) console.log(id); // Store the event here; process it after the response.
  return [204];
}

const server = createServer(async (request, response) => {
  const [status, problem] = await receive(request).catch(() => [400, { error: "this is not an event" }]);
  const close = request.complete ? {} : { connection: "close" };
  response.writeHead(status, { "content-type": "application/json", ...close });
  response.end(problem && JSON.stringify(problem));
});
server.listen(Number(process.env.RECEIVER_PORT ?? 4000), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
