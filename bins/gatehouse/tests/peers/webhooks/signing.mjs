// Builds deliveries that the server did not send: signed correctly, or forged.
import { createHmac } from "node:crypto";

const seconds = () => Math.floor(Date.now() / 1000);
let number = 0;

/** Returns a delivery with both kinds of signature by this secret, and this timestamp and body if given. */
export function signed(secret, { timestamp = String(seconds()), body } = {}) {
  const id = `evt_forged${(number += 1)}`;
  // Spaces, an escape, characters of two to four bytes and a line feed: parsing and serializing changes this body.
  body ??= Buffer.from(`{ "id" :"${id}", "note": "Zo\\u00eb, Zoë, ☃ and 🦉", "n": 1.0 }\n`);
  const bytes = Buffer.from(secret.replace("whsec_", ""), "base64");
  const hex = createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest("hex");
  const base64 = createHmac("sha256", bytes).update(`${id}.${timestamp}.`).update(body).digest("base64");
  const headers = {
    "x-service-event-id": id,
    "x-service-timestamp": timestamp,
    "x-service-signature": `v1=${hex}`,
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${base64}`,
  };
  return { id, headers, body };
}

const changed = (buffer, at) => Buffer.from(buffer.map((byte, index) => (index === at ? byte ^ 1 : byte)));
const other = (text, at) => text.slice(0, at) + (text[at] === "0" ? "1" : "0") + text.slice(at + 1);

/** Returns deliveries that a receiver must refuse: genuine ones changed, or signed incorrectly. */
export function forgeries(genuine, secret, wrong) {
  const { headers, body } = genuine;
  const with_ = (own) => ({ headers: { ...headers, ...own }, body });
  const both = (service, standard) => {
    return with_({ "x-service-signature": service, "webhook-signature": standard });
  };
  // The receivers know only shared secrets: the first value of the header.
  const [hex, [base64]] = [headers["x-service-signature"], headers["webhook-signature"].split(" ")];
  const longer = `v1,${Buffer.concat([Buffer.from(base64.slice(3), "base64"), Buffer.alloc(1)]).toString("base64")}`;
  const times = (timestamp) => with_({ "x-service-timestamp": timestamp, "webhook-timestamp": timestamp });
  const without = Object.entries(headers).filter(([name]) => !name.includes("signature"));
  const now = Number(headers["x-service-timestamp"]);
  return {
    "the first byte changed": { headers, body: changed(body, 0) },
    "a byte in the middle changed": { headers, body: changed(body, body.length >> 1) },
    "the last byte changed": { headers, body: changed(body, body.length - 1) },
    "a byte more": { headers, body: Buffer.concat([body, Buffer.from("\n")]) },
    "a byte less": { headers, body: body.subarray(0, -1) },
    "no body": { headers, body: Buffer.alloc(0) },
    "the timestamp a second later": times(String(now + 1)),
    "the timestamp 301 seconds earlier": times(String(now - 301)),
    "the signature's first digit changed": both(other(hex, 3), other(base64, 3)),
    "the signature's last digit changed": both(other(hex, hex.length - 1), other(base64, base64.length - 3)),
    "a shorter signature": both(hex.slice(0, -2), base64.slice(0, -4)),
    "a longer signature": both(`${hex}00`, longer),
    "an empty signature": both("v1=", "v1,"),
    "another version": both(hex.replace("v1=", "v2="), base64.replace("v1,", "v2,")),
    "in capitals": both(`v1=${hex.slice(3).toUpperCase()}`, `v1,${base64.slice(3).toUpperCase()}`),
    "no signature": { headers: Object.fromEntries(without), body },
    "no headers": { headers: {}, body },
    "by another secret": signed(wrong, { body }),
    "301 seconds old": signed(secret, { timestamp: String(seconds() - 301) }),
    // One second of margin, because time passes before the receiver checks it.
    "302 seconds early": signed(secret, { timestamp: String(seconds() + 302) }),
    ...Object.fromEntries(
      ["", "soon", "NaN", "Infinity", "-1"].map((time) => [`at "${time}"`, signed(secret, { timestamp: time })]),
    ),
  };
}

/** Returns deliveries that a receiver must accept, with timestamps near both limits. */
export function genuine(secret) {
  return {
    "signed here": signed(secret),
    "290 seconds old": signed(secret, { timestamp: String(seconds() - 290) }),
    "290 seconds early": signed(secret, { timestamp: String(seconds() + 290) }),
  };
}
