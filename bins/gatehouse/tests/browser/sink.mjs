// A webhook receiver with configurable responses, which records the requests.
import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";

/** Starts the receiver on a free local port. */
export async function sink() {
  const came = [];
  const waiting = [];
  const answer = { status: 200, body: "" };
  const server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    came.push({ headers: request.headers, body: Buffer.concat(parts).toString() });
    response.writeHead(answer.status, { "Content-Type": "text/html" }).end(answer.body);
    for (const wake of waiting.splice(0)) wake();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}/hooks`,
    came,
    answer,
    /** Waits for a request that this function accepts. */
    async received(accepts) {
      for (;;) {
        const found = came.find(accepts);
        if (found) return found;
        await new Promise((wake) => { waiting.push(wake); });
      }
    },
    close: () => server.close(),
  };
}

/** Returns whether this header is the request's signature with the secret. */
export function isSigned({ headers, body }, secret, name = "x-service-signature") {
  const hash = createHmac("sha256", secret).update(`${headers["x-service-timestamp"]}.${body}`).digest("hex");
  const [given, expected] = [Buffer.from(headers[name] ?? ""), Buffer.from(`v1=${hash}`)];
  return given.length === expected.length && timingSafeEqual(given, expected);
}
