// The server: what an administrator does with webhooks, by a token and in person, and what the operator does.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHmac } from "node:crypto";
import { promisify } from "node:util";

const STEP = 30_000;
const PURPOSE = "WEBHOOK_SECRET_ROTATE";

/** Bytes of what people type into an app. */
function base32(text) {
  const digits = [...text.replace(/[\s=]/g, "")].map((digit) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(digit));
  const bits = digits.map((digit) => digit.toString(2).padStart(5, "0")).join("");
  return Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)));
}

/** The code of a step (RFC 6238). */
function code(secret, step) {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const hash = createHmac("sha1", secret).update(counter).digest();
  const number = hash.readUInt32BE(hash.at(-1) & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, "0");
}

export class House {
  constructor({ base, program, tenant, token }) {
    Object.assign(this, { base, program, tenant, token });
  }

  /** Makes a person as the operator does, which is an event. The variables say in which database. */
  async happen(email) {
    const words = ["--json", "user", "create", "--tenant", this.tenant, "--email", email];
    await promisify(execFile)(this.program, words);
  }

  async ask(method, path, body, headers) {
    const answer = await fetch(this.base + path, {
      method,
      headers: { ...headers, ...(body && { "content-type": "application/json" }) },
      body: body && JSON.stringify(body),
    });
    return { status: answer.status, body: await answer.json(), cookies: answer.headers.getSetCookie() };
  }

  /** By the token: what the answer says. */
  async api(method, path, body) {
    const { status, body: told } = await this.ask(method, path, body, { authorization: `Bearer ${this.token}` });
    assert.equal(status, 200, `${method} ${path}: ${JSON.stringify(told)}`);
    return told;
  }

  /** In person. */
  async own(path, body, headers = {}) {
    const { status, body: told, cookies } = await this.ask("POST", path, body, { cookie: this.cookie, ...headers });
    assert.equal(status, 200, `${path}: ${JSON.stringify(told)}`);
    this.keep(cookies);
    return told;
  }

  /** The session gets a new id when a factor is proved on it. */
  keep(cookies) {
    if (cookies.length > 0) this.cookie = cookies.map((line) => line.split(";")[0]).join("; ");
  }

  /** Signs in by a password, and enrols an app. */
  async signIn(email, password) {
    const asked = { tenant: this.tenant, email, password };
    const { body, cookies } = await this.ask("POST", "/api/auth/sign-in", asked);
    assert.equal(body.status, "SIGNED_IN", JSON.stringify(body));
    this.keep(cookies);
    const app = await this.own("/api/me/factors/totp");
    this.secret = base32(app.secret);
    await this.own("/api/me/factors/totp/verify", { id: app.id, code: await this.code() });
  }

  /** The next code of the app. Each is good once, from a step before its time to a step after: few are waited for. */
  async code() {
    const present = () => Math.floor(Date.now() / STEP);
    this.step = Math.max((this.step ?? 0) + 1, present() - 1);
    // A step that ends on the way would be one too early.
    if (Date.now() % STEP > STEP - 2000 && this.step < present()) this.step = present();
    while (this.step > present() + 1) await new Promise((resolve) => setTimeout(resolve, 100));
    return code(this.secret, this.step);
  }

  /** What asks for a fresh proof: refused to the token and without one, done with one. */
  async prove(path, body) {
    const byToken = await this.ask("POST", path, body, { authorization: `Bearer ${this.token}` });
    assert.deepEqual([byToken.status, byToken.body.reason], [403, "CREDENTIAL_KIND"]);
    const without = await this.ask("POST", path, body, { cookie: this.cookie });
    assert.deepEqual([without.status, without.body.code, without.body.purpose], [401, "STEP_UP_REQUIRED", PURPOSE]);
    const { challengeId } = await this.own("/api/auth/step-up/challenge-options", { purpose: PURPOSE });
    const answer = { challengeId, factor: "TOTP", code: await this.code() };
    const { token } = await this.own("/api/auth/step-up/verify", answer);
    return this.own(path, body, { "x-stepup-token": token });
  }
}
