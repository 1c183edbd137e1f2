// Runs samlp as an identity provider, with a password form.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import samlp from "samlp";
import SessionParticipants from "samlp/lib/sessionParticipants/index.js";
import { keys } from "./keys.mjs";
import { parseMetadata } from "./gatehouse.mjs";

const ISSUER = "urn:example:samlp";
const CIPHERS = {
  "aes128-gcm": "http://www.w3.org/2009/xmlenc11#aes128-gcm",
  "aes256-gcm": "http://www.w3.org/2009/xmlenc11#aes256-gcm",
  "aes256-cbc": "http://www.w3.org/2001/04/xmlenc#aes256-cbc",
};

const escaped = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

/** Renders the sign-in form, with the SAML request in hidden fields. */
function page({ SAMLRequest = "", RelayState = "" }, message = "") {
  return `<!doctype html><title>Sign in</title><p>${message}</p><form method=post action='/sso'>
    <input type=hidden name=SAMLRequest value="${escaped(SAMLRequest)}">
    <input type=hidden name=RelayState value='${escaped(RelayState)}'>
    <input name="username"> <input name="password" type="password"> <input type="submit" name="go"></form>`;
}

/** Adds the parts of Express that samlp uses to a request and its response; returns the path. */
async function adaptToExpress(request, response) {
  const url = new URL(request.url, "http://localhost");
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()));
  const query = Object.fromEntries(url.searchParams);
  Object.assign(request, { originalUrl: request.url, protocol: "http", query, body });
  const set = (name, value) => response.setHeader(name, value);
  const send = (first, text) => {
    if (typeof first === "number") response.writeHead(first).end(String(text));
    else response.end(first);
  };
  Object.assign(response, { set, send });
  return url.pathname;
}

/** Keeps the state of logouts, which samlp would otherwise keep in a session of Express. */
class Logouts {
  #states = new Map();

  save(_request, state, done) {
    const id = randomUUID();
    this.#states.set(id, state);
    done(null, id);
  }

  load(_request, id, _options, done) {
    done(null, this.#states.get(id));
  }

  update(_request, id, state, done) {
    this.#states.set(id, state);
    done(null);
  }
}

export class Samlp {
  static domain = "samlp.example";
  domain = Samlp.domain;
  name = "samlp";
  emailSources = ["attribute"];
  ciphers = Object.keys(CIPHERS).filter((name) => name.endsWith("gcm"));
  cbc = "aes256-cbc";
  #settings = {};
  #provider;
  #logouts = new Logouts();
  /** The session of each browser, by its cookie: a list of one, as samlp takes it. */
  #sessions = new Map();
  #errors = [];

  /** Starts it with these users: `{name: {password, email}}`. */
  static async start({ folder, people }) {
    const it = Object.assign(new Samlp(), { people });
    it.keys = await keys(folder, it.name);
    it.server = createServer((request, response) => {
      const failed = (error) => {
        it.#errors.push(error.stack);
        response.writeHead(500).end(error.message);
      };
      it.#answer(request, response, failed).catch(failed);
    });
    await new Promise((resolve) => it.server.listen(0, "127.0.0.1", resolve));
    it.url = `http://127.0.0.1:${it.server.address().port}`;
    it.service = `${it.url}/sso`;
    return it;
  }

  async #answer(request, response, failed) {
    const path = await adaptToExpress(request, response);
    const logoutEndpointPaths = { post: "/logout" };
    const paths = { postEndpointPath: "/sso", redirectEndpointPath: "/sso", logoutEndpointPaths };
    if (path === "/metadata") {
      const cert = this.keys[request.query.key].cert;
      return samlp.metadata({ issuer: ISSUER, cert, ...paths })(request, response);
    }
    const session = request.headers.cookie?.match(/\bsession=([\w-]+)/)?.[1];
    if (path === "/logout") return samlp.logout(this.#logoutOptions(session))(request, response, failed);
    const { username, password, ...fields } = { ...request.query, ...request.body };
    response.set("content-type", "text/html; charset=utf-8");
    if (username === undefined) return response.end(page(fields));
    const person = this.people[username];
    if (person?.password !== password) return response.end(page(fields, "Wrong user name or password"));
    const name = { givenName: username, familyName: "Lovelace" };
    const user = { id: username, displayName: username, name, emails: [{ value: person.email }] };
    const sessionIndex = `_${randomUUID()}`;
    this.#sessions.set(sessionIndex, [this.#participant(username, sessionIndex)]);
    response.set("set-cookie", `session=${sessionIndex}; Path=/; HttpOnly`);
    return samlp.auth({ ...this.#options(), sessionIndex, getUserFromRequest: () => user })(request, response, failed);
  }

  #options() {
    const { sign = "both", cipher, key = "first" } = this.#settings;
    const { entityId, acs, signing, encryption } = this.#provider;
    return {
      ...this.keys[key],
      issuer: ISSUER,
      audience: entityId,
      recipient: acs,
      destination: acs,
      getPostURL: (_audience, _request, _incoming, done) => done(null, acs),
      lifetimeInSeconds: 300,
      signAssertion: sign !== "response",
      signResponse: sign !== "assertion",
      // Refuse requests without Gatehouse's signature.
      signingCert: signing,
      ...(cipher && {
        encryptionCert: encryption.pem,
        encryptionPublicKey: encryption.key,
        encryptionAlgorithm: CIPHERS[cipher],
        disallowEncryptionWithInsecureAlgorithm: false,
        warnOnInsecureEncryptionAlgorithm: false,
      }),
    };
  }

  #participant(nameId, sessionIndex) {
    const { entityId, slo, signing } = this.#provider;
    return {
      serviceProviderId: entityId,
      nameId,
      nameIdFormat: "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified",
      sessionIndex,
      serviceProviderLogoutURL: slo,
      cert: signing,
    };
  }

  #logoutOptions(session) {
    const participants = this.#sessions.get(session) ?? [];
    return {
      ...this.keys.first,
      issuer: ISSUER,
      protocolBinding: "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST",
      signatureAlgorithm: "rsa-sha256",
      digestAlgorithm: "sha256",
      store: this.#logouts,
      sessionParticipants: new SessionParticipants(participants),
      clearIdPSession: (done) => {
        this.#sessions.delete(session);
        done();
      },
    };
  }

  /** Returns its metadata with both signing certificates. samlp publishes one, so this adds the second. */
  async metadata() {
    const publish = async (key) => (await fetch(`${this.url}/metadata?key=${key}`)).text();
    const [now, next] = [await publish("first"), await publish("second")];
    return now.replace("</KeyDescriptor>", (end) => end + next.match(/<KeyDescriptor[^]*?<\/KeyDescriptor>/)[0]);
  }

  /** Registers Gatehouse by its metadata. */
  async register(xml) {
    this.#provider = parseMetadata(xml);
  }

  /** Changes how it answers the next logins. */
  async configure(settings) {
    this.#settings = settings;
  }

  /** Returns the address that signs the user out. */
  logoutUrl() {
    return `${this.url}/logout`;
  }

  /** Returns the address that starts an IdP-initiated login. */
  unsolicited() {
    return this.service;
  }

  /** Returns the last errors. */
  async recentLog() {
    return this.#errors.slice(-3).join("\n");
  }

  close() {
    this.server?.closeAllConnections();
    this.server?.close();
  }
}
