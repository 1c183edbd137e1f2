// The server under test: its API with a token and with a session, and its command line.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { promisify } from "node:util";

const STEP = 30_000;
const PURPOSE = "WEBHOOK_SECRET_ROTATE";

/** Decodes the secret of an authenticator app. */
function base32(text) {
  const digits = [...text.replace(/[\s=]/g, "")].map((digit) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(digit));
  const bits = digits.map((digit) => digit.toString(2).padStart(5, "0")).join("");
  return Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)));
}

/** Returns the code of a time step (RFC 6238). */
function code(secret, step) {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const hash = createHmac("sha1", secret).update(counter).digest();
  const number = hash.readUInt32BE(hash.at(-1) & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, "0");
}

export class Gatehouse {
  constructor({ base, program, tenant, token }) {
    Object.assign(this, { base, program, tenant, token });
  }

  /** Creates a user, which causes an event; environment variables select the database. */
  async createUser(email) {
    const words = ["--json", "user", "create", "--tenant", this.tenant, "--email", email];
    await promisify(execFile)(this.program, words);
  }

  async request(method, path, body, headers) {
    const answer = await fetch(this.base + path, {
      method,
      headers: { ...headers, ...(body && { "content-type": "application/json" }) },
      body: body && JSON.stringify(body),
    });
    return { status: answer.status, body: await answer.json(), cookies: answer.headers.getSetCookie() };
  }

  /** Sends a request with the token; returns the body. */
  async requestWithToken(method, path, body) {
    const { status, body: data } = await this.request(method, path, body, { authorization: `Bearer ${this.token}` });
    assert.equal(status, 200, `${method} ${path}: ${JSON.stringify(data)}`);
    return data;
  }

  /** Posts with the session; returns the body. */
  async post(path, body, headers = {}) {
    const { status, body: data, cookies } = await this.request("POST", path, body, { cookie: this.cookie, ...headers });
    assert.equal(status, 200, `${path}: ${JSON.stringify(data)}`);
    this.keep(cookies);
    return data;
  }

  /** Keeps the session's cookies, which change when the user verifies a factor. */
  keep(cookies) {
    if (cookies.length > 0) this.cookie = cookies.map((line) => line.split(";")[0]).join("; ");
  }

  /** Signs in with a password, and enrols an authenticator app. */
  async signIn(email, password) {
    const credentials = { tenant: this.tenant, email, password };
    const { body, cookies } = await this.request("POST", "/api/auth/sign-in", credentials);
    assert.equal(body.status, "SIGNED_IN", JSON.stringify(body));
    this.keep(cookies);
    const app = await this.post("/api/me/factors/totp");
    this.secret = base32(app.secret);
    await this.post("/api/me/factors/totp/verify", { id: app.id, code: await this.code() });
  }

  /** Returns the next unused code. The server accepts a code once, from one step early to one step late. */
  async code() {
    const present = () => Math.floor(Date.now() / STEP);
    this.step = Math.max((this.step ?? 0) + 1, present() - 1);
    // The current step may end before the server checks the code, and its predecessor would then be too old.
    if (Date.now() % STEP > STEP - 2000 && this.step < present()) this.step = present();
    while (this.step > present() + 1) await new Promise((resolve) => setTimeout(resolve, 100));
    return code(this.secret, this.step);
  }

  /** Asserts that a request needs a session and a step-up; then sends it with both. */
  async postWithStepUp(path, body) {
    const byToken = await this.request("POST", path, body, { authorization: `Bearer ${this.token}` });
    assert.deepEqual([byToken.status, byToken.body.reason], [403, "CREDENTIAL_KIND"]);
    const without = await this.request("POST", path, body, { cookie: this.cookie });
    assert.deepEqual([without.status, without.body.code, without.body.purpose], [401, "STEP_UP_REQUIRED", PURPOSE]);
    const { challengeId } = await this.post("/api/auth/step-up/challenge-options", { purpose: PURPOSE });
    const answer = { challengeId, factor: "TOTP", code: await this.code() };
    const { token } = await this.post("/api/auth/step-up/verify", answer);
    return this.post(path, body, { "x-stepup-token": token });
  }
}
