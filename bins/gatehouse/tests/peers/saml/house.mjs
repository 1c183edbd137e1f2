// The server: identity providers that its operator adds, and what people get from it.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { decoded } from "./browser.mjs";

const POST = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST";

const value = (tag, name) => decoded(tag.match(new RegExp(`\\s${name}=["']([^"']*)["']`))?.[1] ?? "");

/** Our metadata, for who cannot read it: `{entityId, acs, signing, encryption: {pem, key}}`. */
export function ours(xml) {
  const tags = (name) => xml.match(new RegExp(`<(?:\\w+:)?${name}\\b[^>]*>`, "g")) ?? [];
  const of = (use) => {
    const each = xml.matchAll(/<(?:\w+:)?KeyDescriptor\b([^>]*)>[^]*?<(?:\w+:)?X509Certificate\b[^>]*>([^<]+)</g);
    const found = [...each].find(([, tag]) => [use, ""].includes(value(tag, "use")));
    return new X509Certificate(Buffer.from(found[2], "base64"));
  };
  const [signing, encryption] = [of("signing"), of("encryption")];
  return {
    entityId: value(tags("EntityDescriptor")[0], "entityID"),
    acs: value(tags("AssertionConsumerService").find((tag) => value(tag, "Binding") === POST), "Location"),
    signing: signing.toString(),
    encryption: { pem: encryption.toString(), key: encryption.publicKey.export({ type: "spki", format: "pem" }) },
  };
}

export class House {
  /** Of an administrator, by the id of the provider. */
  tokens = new Map();

  constructor({ base, program, folder }) {
    Object.assign(this, { base, program, folder });
  }

  /** Runs a command of the operator's. The variables say in which database. */
  async operate(words, input = "") {
    const running = promisify(execFile)(this.program, [...words, "--json"]);
    running.child.stdin.end(input);
    return JSON.parse((await running).stdout);
  }

  /** A tenant with Ada, and the identity provider that speaks for its people: `{id, metadata}`. */
  async welcome(idp) {
    const slug = idp.domain.split(".")[0];
    const tenant = ["--tenant", slug];
    const ada = [...tenant, "--email", `ada@${idp.domain}`];
    await this.operate(["tenant", "create", "--slug", slug, "--name", idp.name]);
    await this.operate(["user", "create", ...ada, "--password-stdin"], "a password of ours\n");
    await this.operate(["user", "role", ...ada, "--role", "ADMIN"]);
    const { token } = await this.operate(["token", "pat", ...ada, "--name", "check", "--scopes", "admin:tenant"]);
    const file = `${this.folder}/${slug}.xml`;
    await writeFile(file, await idp.metadata());
    const what = ["--name", idp.name, "--metadata", file, "--email-domains", idp.domain];
    const { id } = await this.operate(["saml", "add", ...tenant, ...what]);
    this.tokens.set(id, token);
    const answer = await fetch(`${this.base}/api/saml/${id}/metadata`);
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get("content-type"), /^application\/samlmetadata\+xml/);
    return { id, metadata: await answer.text() };
  }

  /** Why the last answer was refused, as administrators are told: `{step, reason, detail}`; nothing if that is not entered yet. */
  async refusal(id) {
    const path = "/api/settings/audit-log?action=ACCOUNT_SAML_SIGN_IN_REFUSED&limit=1";
    const headers = { authorization: `Bearer ${this.tokens.get(id)}` };
    const answer = await fetch(this.base + path, { headers });
    assert.equal(answer.status, 200);
    const [entry] = (await answer.json()).entries;
    if (entry) assert.equal(entry.resourceId, id);
    return entry?.metadata ?? {};
  }

  /** Where a login begins, and what it is to end at. */
  login(id, path) {
    return `${this.base}/api/saml/${id}/login?${new URLSearchParams({ relayState: path })}`;
  }

  /** Who somebody is to us: an address, or nobody. */
  async who(browser) {
    const { status, text } = await browser.open(`${this.base}/api/me`, { accept: "application/json" });
    assert.ok([200, 401].includes(status), text);
    return status === 200 ? JSON.parse(text).email : null;
  }
}
