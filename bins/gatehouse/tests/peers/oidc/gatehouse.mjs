// The server under test: its command line and its API.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";

export class Gatehouse {
  /** The administrator's token, by the ID of the SSO connection. */
  tokens = new Map();

  constructor({ base, program }) {
    Object.assign(this, { base, program });
  }

  /** Runs a command of the server's program; environment variables select the database. */
  async command(words, input = "") {
    const running = promisify(execFile)(this.program, [...words, "--json"]);
    running.child.stdin.end(input);
    return JSON.parse((await running).stdout);
  }

  /**
   * Creates a tenant with the user Ada and an SSO connection:
   * `{id, redirectUri, jwksUri, backchannelLogoutUri, postLogoutRedirectUri}`.
   */
  async connect(provider, { name, clientId, method, options }) {
    const slug = `${provider.name}-${name}`;
    const tenant = ["--tenant", slug];
    const ada = [...tenant, "--email", `ada@${provider.domain}`];
    await this.command(["tenant", "create", "--slug", slug, "--name", slug]);
    await this.command(["user", "create", ...ada, "--password-stdin"], "a password of ours\n");
    await this.command(["user", "role", ...ada, "--role", "ADMIN"]);
    const { token } = await this.command(["token", "pat", ...ada, "--name", "check", "--scopes", "admin:tenant"]);
    const credential = ["--auth-method", method, ...(method === "private_key_jwt" ? [] : ["--client-secret-stdin"])];
    const words = ["--name", slug, "--issuer", provider.issuer, "--client-id", clientId, ...credential, ...options];
    const connect = ["oidc", "add", ...tenant, ...words, "--email-domains", provider.domain];
    const connection = await this.command(connect, method === "private_key_jwt" ? "" : `${provider.secret}\n`);
    this.tokens.set(connection.id, token);
    return connection;
  }

  /** Returns the last refusal in the audit log: `{id, step, reason, detail}`, or an empty object. */
  async refusal(id) {
    const path = "/api/settings/audit-log?action=ACCOUNT_OIDC_SIGN_IN_REFUSED&limit=1";
    const headers = { authorization: `Bearer ${this.tokens.get(id)}` };
    const answer = await fetch(this.base + path, { headers });
    assert.equal(answer.status, 200);
    const [entry] = (await answer.json()).entries;
    if (entry) assert.equal(entry.resourceId, id);
    return entry ? { ...entry.metadata, id: entry.id } : {};
  }

  /** Returns the address that starts a login, which redirects to `path` at the end. */
  loginUrl(id, path) {
    return `${this.base}/api/oidc/${id}/login?${new URLSearchParams({ relayState: path })}`;
  }

  /** Signs out in this browser; returns the answer. */
  async signOut(browser) {
    const headers = { origin: this.base, "sec-fetch-site": "same-origin", "content-type": "application/json" };
    const { status, text } = await browser.go({ url: `${this.base}/api/auth/sign-out`, method: "POST", body: "{}", headers });
    assert.equal(status, 200, text);
    return JSON.parse(text);
  }

  /** Returns the email of the user signed in in this browser, or null. */
  async signedInUser(browser) {
    const { status, text } = await browser.open(`${this.base}/api/me`, { accept: "application/json" });
    assert.ok([200, 401].includes(status), text);
    return status === 200 ? JSON.parse(text).email : null;
  }
}
