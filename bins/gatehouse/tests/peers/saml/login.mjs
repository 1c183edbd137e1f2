// The steps of one login in one browser: to the identity provider, and back with its response.
import assert from "node:assert/strict";
import { Browser } from "./browser.mjs";

const SESSION = /^(__Secure-)?authjs\.session-token(\.0)?=./;
/** The page that the login ends at. */
const TARGET = "/account/security";
/** The password of every user at the identity provider. */
export const PASSWORD = "a password of theirs";

/** Returns what is signed and encrypted in a response, and by which algorithms. */
export function inspect(form) {
  const xml = Buffer.from(form.fields.SAMLResponse, "base64").toString();
  const algorithms = (element) => {
    const pattern = new RegExp(`<(?:\\w+:)?${element}\\b[^>]*Algorithm="[^"#]+#([^"]+)"`, "g");
    return [...xml.matchAll(pattern)].map(([, name]) => name);
  };
  const [cipher, transport] = algorithms("EncryptionMethod");
  const assertion = xml.match(/<(?:\w+:)?Assertion\b[^]*<\/(?:\w+:)?Assertion>/)?.[0] ?? "";
  const outside = xml.replace(/<(\w+:)?(Encrypted)?Assertion\b[^]*<\/\1(Encrypted)?Assertion>/, "");
  const signed = (text) => /<(\w+:)?SignatureValue\b/.test(text);
  const used = [...algorithms("SignatureMethod"), ...(cipher ? [] : algorithms("DigestMethod"))];
  return { cipher, transport, response: signed(outside), assertion: signed(assertion), used: new Set(used) };
}

export class Login {
  constructor({ gatehouse, idp, id, browser = new Browser() }) {
    Object.assign(this, { gatehouse, idp, id, browser });
  }

  /** Starts the login; returns the identity provider's first page. */
  async start() {
    const page = await this.browser.open(this.gatehouse.loginUrl(this.id, TARGET));
    assert.equal(page.status, 200, page.text);
    const [form] = page.forms;
    assert.deepEqual(Object.keys(form.fields).sort(), ["RelayState", "SAMLRequest"]);
    assert.equal(form.action, this.idp.service);
    return this.browser.submit(form);
  }

  /** Submits the password form; returns the next page. */
  async submitPassword(page, username = "ada", password = PASSWORD) {
    const form = page.forms.find(({ secret }) => secret);
    assert.ok(form, `no password form: ${page.status} ${page.text}`);
    return this.browser.submit(form, { username, password });
  }

  /** Returns the form with the SAML response on this page. */
  responseForm(page) {
    const form = page.forms.find(({ fields }) => fields.SAMLResponse);
    assert.ok(form, `no response: ${page.status} ${page.text}`);
    assert.equal(form.action, `${this.gatehouse.base}/api/saml/${this.id}/acs`);
    return form;
  }

  /** Logs in at the identity provider; returns the form with its response. */
  async authenticate(username) {
    return this.responseForm(await this.submitPassword(await this.start(), username));
  }

  /** Submits a response, and asserts that it signs the user in. */
  async assertAccepted(form) {
    const { status, headers, text } = await this.browser.submit(form, {}, { follow: false });
    assert.deepEqual([status, headers.get("location")], [303, TARGET], text);
    assert.ok(headers.getSetCookie().some((line) => SESSION.test(line)), "there is no session");
    assert.equal(await this.gatehouse.signedInUser(this.browser), `ada@${this.idp.domain}`);
  }

  /** Submits a response, and asserts the problem in the answer and the reason in the audit log. */
  async assertRefused(form, reasons, code = "SAML_REFUSED") {
    const { status, headers, text } = await this.browser.submit(form, {}, { accept: "application/json" });
    assert.deepEqual([status, status === 401 && JSON.parse(text).code], [401, code], text);
    assert.ok(!headers.getSetCookie().some((line) => SESSION.test(line)), "there is a session");
    // The server records refusals of unknown responses after it has answered.
    const deadline = Date.now() + 5000;
    let recorded = await this.gatehouse.refusal(this.id);
    while (!reasons.includes(recorded.reason) && Date.now() < deadline) {
      recorded = await this.gatehouse.refusal(this.id);
    }
    const { reason, detail } = recorded;
    assert.ok(reasons.includes(reason), `refused for ${reason} (${detail}), not for ${reasons.join(" or ")}`);
  }

  /** Submits a response as a page does, and asserts that a page with the problem answers. */
  async assertRefusedOnPage(form) {
    const { status, headers, text } = await this.browser.submit(form);
    assert.equal(status, 401, text);
    assert.match(headers.get("content-type"), /^text\/html/);
    assert.match(text, /\bSAML_REFUSED\b/);
  }

  /** Submits the forms that bring logout messages; returns the page after the last. */
  async deliverMessages(page) {
    for (let count = 0; count < 5; count += 1) {
      const form = page.forms.find(({ fields }) => fields.SAMLRequest || fields.SAMLResponse);
      if (!form) return page;
      page = await this.browser.submit(form);
    }
    throw new assert.AssertionError({ message: `the logout does not end: ${page.url}` });
  }

  /** Signs out here, and asserts that the identity provider signs the user out too and confirms it. */
  async assertSignsOutEverywhere() {
    const logoutUrl = await this.gatehouse.signOut(this.browser);
    await this.assertSignedOut();
    const { url, text } = await this.deliverMessages(await this.browser.open(logoutUrl));
    assert.equal(url, `${this.gatehouse.base}/auth/login?reason=SIGNED_OUT`, text);
    const page = await this.start();
    assert.ok(page.forms.some(({ secret }) => secret), `no password form: ${page.text}`);
  }

  /** Signs out at the identity provider, and asserts that this ends the session here. */
  async assertIsSignedOutByProvider() {
    assert.equal(await this.gatehouse.signedInUser(this.browser), `ada@${this.idp.domain}`);
    const page = await this.deliverMessages(await this.browser.open(this.idp.logoutUrl()));
    assert.equal(page.status, 200, page.text);
    await this.assertSignedOut();
  }

  async assertSignedOut() {
    assert.equal(await this.gatehouse.signedInUser(this.browser), null);
  }
}
