// Tests that Auth.js reads the server's session cookies, and that the server accepts tokens from Auth.js.
// AUTH_SECRET=… check.mjs BASE_URL EMAIL PASSWORD, for a user without a second factor.
import assert from "node:assert/strict";
import { decode, encode } from "@auth/core/jwt";

const [base, email, password] = process.argv.slice(2);
const secret = process.env.AUTH_SECRET;
const names = ["authjs.session-token", "__Secure-authjs.session-token"];
const json = { "content-type": "application/json" };

const cookies = (answer) =>
  Object.fromEntries(answer.headers.getSetCookie().map((line) => line.split(";")[0].split(/=(.*)/s).slice(0, 2)));
const ask = async (path, cookie, method = "GET") => {
  const answer = await fetch(base + path, { method, headers: { cookie } });
  return { status: answer.status, body: await answer.json(), cookies: cookies(answer) };
};

// Auth.js reads the server's token.
const signedIn = await fetch(`${base}/api/auth/sign-in`, {
  method: "POST", headers: json, body: JSON.stringify({ email, password }),
});
assert.equal((await signedIn.json()).status, "SIGNED_IN");
const set = cookies(signedIn);
const decoded = await decode({ token: set[names[0]], secret, salt: names[0] });
assert.equal(decoded.email, email);
assert.equal(decoded.sid, set.as_sid);
assert.match(decoded.sub, /^usr_/);
assert.match(decoded.tid, /^ten_/);
await assert.rejects(decode({ token: set[names[0]], secret, salt: names[1] }), "the cookie's name is part of the key");

// The server reads tokens from Auth.js: under both names, whole and in chunks.
for (const [index, salt] of names.entries()) {
  const claims = { email, name: "Ada", sub: "neighbour", index };
  const whole = await encode({ token: claims, secret, salt, maxAge: 3600 });
  const me = await ask("/api/me", `${salt}=${whole}`);
  assert.deepEqual([me.status, me.body.email], [200, email]);

  const large = await encode({ token: { ...claims, more: "x".repeat(6000) }, secret, salt, maxAge: 3600 });
  const chunks = large.match(/.{1,3936}/gs).map((part, at) => `${salt}.${at}=${part}`).reverse();
  assert.ok(chunks.length > 1);
  assert.equal((await ask("/api/me", chunks.join("; "))).status, 200);

  // The heartbeat exchanges it for the server's own token, which Auth.js reads.
  const beat = await ask("/api/me/sessions/heartbeat", `${salt}=${whole}`, "POST");
  assert.equal(beat.status, 200);
  const exchanged = await decode({ token: beat.cookies[names[0]], secret, salt: names[0] });
  assert.equal(exchanged.sid, beat.body.session.id);

  // After the session has ended, the server refuses the original token too.
  await ask(`/api/me/sessions/${exchanged.sid}`, `${salt}=${whole}`, "DELETE");
  assert.equal((await ask("/api/me", `${salt}=${whole}`)).body.code, "SESSION_REVOKED");
}

const other = await encode({ token: { email }, secret: `${secret}x`, salt: names[0], maxAge: 3600 });
assert.equal((await ask("/api/me", `${names[0]}=${other}`)).status, 401);
const unknown = await encode({ token: { email: "nobody@example.com" }, secret, salt: names[0], maxAge: 3600 });
assert.equal((await ask("/api/me", `${names[0]}=${unknown}`)).body.code, "NOT_PROVISIONED");
console.log("Auth.js and the server read each other's tokens");
