// A webhook receiver with the JavaScript package of Standard Webhooks. It has the same settings as the receivers of the
// documentation.
import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const webhooks = process.env.WEBHOOK_SECRETS.split(",").map((secret) => new Webhook(secret));
const seen = new Set();

const genuine = (webhook, body, headers) => {
  try {
    return webhook.verify(body, headers);
  } catch {
    return undefined;
  }
};

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  if (!webhooks.some((webhook) => genuine(webhook, body, request.headers))) {
    const problem = { error: "the signature does not verify", code: "WEBHOOK_INVALID_SIGNATURE" };
    return response.writeHead(401).end(JSON.stringify(problem));
  }
  const id = request.headers["webhook-id"];
  if (!seen.has(id)) console.log(id);
  seen.add(id);
  return response.writeHead(204).end();
});
server.listen(Number(process.env.RECEIVER_PORT), "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
