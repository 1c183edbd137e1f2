// The server under test: its command line, its API, and the metadata that it publishes.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { decodeHtml } from "./browser.mjs";

const POST = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST";

const value = (tag, name) => decodeHtml(tag.match(new RegExp(`\\s${name}=["']([^"']*)["']`))?.[1] ?? "");

/** Parses the server's SAML metadata: `{entityId, acs, slo, signing, encryption: {pem, key}}`. */
export function parseMetadata(xml) {
  const tags = (name) => xml.match(new RegExp(`<(?:\\w+:)?${name}\\b[^>]*>`, "g")) ?? [];
  const certificate = (use) => {
    const descriptor = /<(?:\w+:)?KeyDescriptor\b([^>]*)>[^]*?<(?:\w+:)?X509Certificate\b[^>]*>([^<]+)</g;
    const found = [...xml.matchAll(descriptor)].find(([, tag]) => [use, ""].includes(value(tag, "use")));
    return new X509Certificate(Buffer.from(found[2], "base64"));
  };
  const [signing, encryption] = [certificate("signing"), certificate("encryption")];
  return {
    entityId: value(tags("EntityDescriptor")[0], "entityID"),
    acs: value(tags("AssertionConsumerService").find((tag) => value(tag, "Binding") === POST), "Location"),
    slo: value(tags("SingleLogoutService").find((tag) => value(tag, "Binding") === POST), "Location"),
    signing: signing.toString(),
    encryption: { pem: encryption.toString(), key: encryption.publicKey.export({ type: "spki", format: "pem" }) },
  };
}

export class Gatehouse {
  /** The administrator's token, by the ID of the SSO connection. */
  tokens = new Map();

  constructor({ base, program, folder }) {
    Object.assign(this, { base, program, folder });
  }

  /** Runs a command of the server's program; environment variables select the database. */
  async command(words, input = "") {
    const running = promisify(execFile)(this.program, [...words, "--json"]);
    running.child.stdin.end(input);
    return JSON.parse((await running).stdout);
  }

  /** Creates a tenant with the user Ada and an SSO connection: `{id, metadata}`. */
  async connect(idp) {
    const slug = idp.domain.split(".")[0];
    const tenant = ["--tenant", slug];
    const ada = [...tenant, "--email", `ada@${idp.domain}`];
    await this.command(["tenant", "create", "--slug", slug, "--name", idp.name]);
    await this.command(["user", "create", ...ada, "--password-stdin"], "a password of ours\n");
    await this.command(["user", "role", ...ada, "--role", "ADMIN"]);
    const { token } = await this.command(["token", "pat", ...ada, "--name", "check", "--scopes", "admin:tenant"]);
    const file = `${this.folder}/${slug}.xml`;
    await writeFile(file, await idp.metadata());
    const options = ["--name", idp.name, "--metadata", file, "--email-domains", idp.domain, "--sign-out-at-provider"];
    const { id } = await this.command(["saml", "add", ...tenant, ...options]);
    this.tokens.set(id, token);
    const answer = await fetch(`${this.base}/api/saml/${id}/metadata`);
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get("content-type"), /^application\/samlmetadata\+xml/);
    return { id, metadata: await answer.text() };
  }

  /** Returns why the last response was refused, from the audit log: `{step, reason, detail}`, or an empty object. */
  async refusal(id) {
    const path = "/api/settings/audit-log?action=ACCOUNT_SAML_SIGN_IN_REFUSED&limit=1";
    const headers = { authorization: `Bearer ${this.tokens.get(id)}` };
    const answer = await fetch(this.base + path, { headers });
    assert.equal(answer.status, 200);
    const [entry] = (await answer.json()).entries;
    if (entry) assert.equal(entry.resourceId, id);
    return entry?.metadata ?? {};
  }

  /** Returns the address that starts a login, which redirects to `path` at the end. */
  loginUrl(id, path) {
    return `${this.base}/api/saml/${id}/login?${new URLSearchParams({ relayState: path })}`;
  }

  /** Signs out in this browser; returns the address that continues at the identity provider. */
  async signOut(browser) {
    const headers = { origin: this.base, "sec-fetch-site": "same-origin", "content-type": "application/json" };
    const request = { url: `${this.base}/api/auth/sign-out`, method: "POST", body: "{}", headers };
    const { status, text } = await browser.go({ ...request, accept: "application/json" });
    assert.equal(status, 200, text);
    return JSON.parse(text).logoutUrl;
  }

  /** Returns the email of the user signed in in this browser, or null. */
  async signedInUser(browser) {
    const { status, text } = await browser.open(`${this.base}/api/me`, { accept: "application/json" });
    assert.ok([200, 401].includes(status), text);
    return status === 200 ? JSON.parse(text).email : null;
  }
}
