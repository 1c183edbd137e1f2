// What one person does in one browser: from our page to theirs, and back with an answer.
import assert from "node:assert/strict";
import { Browser } from "./browser.mjs";

const SESSION = /^(__Secure-)?authjs\.session-token(\.0)?=./;
/** Where people are going, and come out in the end. */
const THERE = "/account/security";
/** Of everybody at theirs. */
export const PASSWORD = "a password of theirs";

/** What an answer is made of, so that none is taken for another. */
export function parts(form) {
  const xml = Buffer.from(form.fields.SAMLResponse, "base64").toString();
  const algorithms = (of) => {
    const each = new RegExp(`<(?:\\w+:)?${of}\\b[^>]*Algorithm="[^"#]+#([^"]+)"`, "g");
    return [...xml.matchAll(each)].map(([, name]) => name);
  };
  const [cipher, transport] = algorithms("EncryptionMethod");
  const assertion = xml.match(/<(?:\w+:)?Assertion\b[^]*<\/(?:\w+:)?Assertion>/)?.[0] ?? "";
  const outside = xml.replace(/<(\w+:)?(Encrypted)?Assertion\b[^]*<\/\1(Encrypted)?Assertion>/, "");
  const signed = (text) => /<(\w+:)?SignatureValue\b/.test(text);
  const used = [...algorithms("SignatureMethod"), ...(cipher ? [] : algorithms("DigestMethod"))];
  return { cipher, transport, response: signed(outside), assertion: signed(assertion), used: new Set(used) };
}

export class Walk {
  constructor({ house, idp, id, browser = new Browser() }) {
    Object.assign(this, { house, idp, id, browser });
  }

  /** From our page to theirs. */
  async begin() {
    const page = await this.browser.open(this.house.login(this.id, THERE));
    assert.equal(page.status, 200, page.text);
    const [form] = page.forms;
    assert.deepEqual(Object.keys(form.fields).sort(), ["RelayState", "SAMLRequest"]);
    assert.equal(form.action, this.idp.service);
    return this.browser.submit(form);
  }

  /** From a page of theirs that asks for a password to the next. */
  async password(page, username = "ada", password = PASSWORD) {
    const form = page.forms.find(({ secret }) => secret);
    assert.ok(form, `no page that asks for a password: ${page.status} ${page.text}`);
    return this.browser.submit(form, { username, password });
  }

  /** The form that brings their answer to us. */
  answer(page) {
    const form = page.forms.find(({ fields }) => fields.SAMLResponse);
    assert.ok(form, `no answer: ${page.status} ${page.text}`);
    assert.equal(form.action, `${this.house.base}/api/saml/${this.id}/acs`);
    return form;
  }

  /** All the way to their answer. */
  async answered(username) {
    return this.answer(await this.password(await this.begin(), username));
  }

  /** The answer lets them in, and to where they were going. */
  async welcome(form) {
    const { status, headers, text } = await this.browser.submit(form, {}, { follow: false });
    assert.deepEqual([status, headers.get("location")], [303, THERE], text);
    assert.ok(headers.getSetCookie().some((line) => SESSION.test(line)), "there is no session");
    assert.equal(await this.house.who(this.browser), `ada@${this.idp.domain}`);
  }

  /** The answer does not: what they are told, and what administrators are. */
  async refusal(form, reasons, code = "SAML_REFUSED") {
    const { status, headers, text } = await this.browser.submit(form, {}, { accept: "application/json" });
    assert.deepEqual([status, status === 401 && JSON.parse(text).code], [401, code], text);
    assert.ok(!headers.getSetCookie().some((line) => SESSION.test(line)), "there is a session");
    // What is refused before it is known whose it is is entered when the answer is on its way.
    const patience = Date.now() + 5000;
    let entered = await this.house.refusal(this.id);
    while (!reasons.includes(entered.reason) && Date.now() < patience) {
      entered = await this.house.refusal(this.id);
    }
    const { reason, detail } = entered;
    assert.ok(reasons.includes(reason), `refused for ${reason} (${detail}), not for ${reasons.join(" or ")}`);
  }

  /** The same for people: a page. */
  async told(form) {
    const { status, headers, text } = await this.browser.submit(form);
    assert.equal(status, 401, text);
    assert.match(headers.get("content-type"), /^text\/html/);
    assert.match(text, /\bSAML_REFUSED\b/);
  }

  /** Nobody to us. */
  async nobody() {
    assert.equal(await this.house.who(this.browser), null);
  }
}
