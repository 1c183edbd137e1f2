import { createPublicKey, verify } from "node:crypto";

/** Verifies a delivery with the `keys` of https://gatehouse.example/.well-known/webhooks/{tenantId}/{webhookId}. */
export function isSigned({ headers, body }, keys) {
  const id = headers["webhook-id"], time = headers["webhook-timestamp"];
  if (!(Math.abs(Date.now() / 1000 - Number(time)) <= 300)) return false;
  const message = Buffer.concat([Buffer.from(`${id}.${time}.`), body]);
  const values = headers["webhook-signature"].split(" ").filter((value) => value.startsWith("v1a,"));
  const signatures = values.map((value) => Buffer.from(value.slice("v1a,".length), "base64"));
  const publicKeys = keys.map((key) => createPublicKey({ key, format: "jwk" }));
  return publicKeys.some((key) => signatures.some((signature) => verify(null, message, key, signature)));
}
