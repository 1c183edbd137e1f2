// Runs oidc-provider over TLS, with a form to sign in.
import { generateKeyPairSync } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:https";
import Provider from "oidc-provider";
import { createMemoryAdapter } from "oidc-provider/lib/adapters/memory_adapter.js";

const INTERACTION = "/interaction/";
const SCOPES = "openid email profile";
/** What it stores or issues, and how long that is valid, in seconds. */
const STORED = ["AccessToken", "Grant", "IdToken", "Interaction", "Session"];
const LIFETIME = 600;
/** The events with an error. */
const ERRORS = ["authorization.error", "grant.error", "userinfo.error", "server_error", "backchannel.error", "end_session.error"];

/** Creates an RSA and a P-256 key, as private JWKs. RS256 and PS256 use the same RSA key. */
function newKeys(name) {
  const jwk = (kind, options) => generateKeyPairSync(kind, options).privateKey.export({ format: "jwk" });
  return [
    { ...jwk("rsa", { modulusLength: 2048 }), use: "sig", kid: `${name}-rsa` },
    { ...jwk("ec", { namedCurve: "P-256" }), use: "sig", kid: `${name}-p256` },
  ];
}

const page = (path, message = "") => `<!doctype html><title>Sign in</title><p>${message}</p>
  <form method=post action='${path}'><input name="username"> <input name="password" type="password">
  <input type="submit" value="Sign in"> <button name="cancel" value="yes">Cancel</button></form>`;

async function readForm(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()));
}

export class OidcProvider {
  static domain = "oidc-provider.example";
  domain = OidcProvider.domain;
  name = "oidc-provider";
  algorithms = ["RS256", "ES256", "PS256"];
  /** The secret of all clients. Its characters have a meaning in Basic authentication and in forms. */
  secret = "a secret of ours: 50% + 7 & more";
  /** Whether its metadata says that its redirects name the issuer. */
  announcesIssuer = true;
  /** Whether it honours `max_age`, also with the session of another client. */
  honoursMaxAge = true;
  /** Whether it ends sessions, and tells its clients. */
  hasLogout = true;
  #memory = createMemoryAdapter();
  #settings = {};
  #clients = [];
  #errors = [];
  #idToken = "";

  /** Starts it with these users: `{name: {password, email}}`; `folder` has the certificate of the server. */
  static async start({ folder, people }) {
    const it = Object.assign(new OidcProvider(), { people });
    const [cert, key] = await Promise.all(["server.pem", "server.key"].map((name) => readFile(`${folder}/${name}`)));
    it.keys = Object.fromEntries(["first", "second", "unknown"].map((name) => [name, newKeys(name)]));
    it.server = createServer({ cert, key }, (request, response) => {
      it.#answer(request, response).catch((error) => {
        it.#errors.push(error.stack);
        response.writeHead(500).end(error.message);
      });
    });
    await new Promise((resolve) => it.server.listen(0, "127.0.0.1", resolve));
    it.issuer = `https://localhost:${it.server.address().port}`;
    await it.configure({});
    return it;
  }

  /** Registers Gatehouse as a client; `jwksUri` is the address of its keys for `private_key_jwt`. */
  async register({ clientId, method, redirectUri, jwksUri, backchannelLogoutUri, postLogoutRedirectUri }) {
    this.#clients.push({
      client_id: clientId,
      redirect_uris: [redirectUri],
      backchannel_logout_uri: backchannelLogoutUri,
      backchannel_logout_session_required: true,
      post_logout_redirect_uris: [postLogoutRedirectUri],
      token_endpoint_auth_method: method,
      ...(method === "private_key_jwt" && { jwks_uri: jwksUri }),
    });
    await this.configure(this.#settings);
  }

  /** Changes how it answers the next logins. Sessions remain. */
  async configure(settings) {
    this.#settings = settings;
    const { algorithm = "RS256", key = "first", secret = this.secret, claims = "id_token", acr } = settings;
    const complete = (client) => ({
      ...client,
      id_token_signed_response_alg: algorithm,
      ...(client.token_endpoint_auth_method !== "private_key_jwt" && { client_secret: secret }),
    });
    const provider = new Provider(this.issuer, {
      adapter: this.#memory,
      ttl: Object.fromEntries(STORED.map((name) => [name, LIFETIME])),
      clients: this.#clients.map(complete),
      jwks: { keys: this.keys[key] },
      conformIdTokenClaims: claims === "userinfo",
      claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"], acr: null, auth_time: null },
      ...(acr && { acrValues: [acr] }),
      cookies: { keys: ["a key for the cookies of oidc-provider"] },
      features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
      interactions: { url: (_context, { uid }) => INTERACTION + uid },
      findAccount: (_context, subject) => this.#account(subject),
      loadExistingGrant: (context) => this.#grant(context),
      // oidc-provider refuses loopback addresses in its own dispatcher, and Gatehouse's keys are at one.
      fetch: (url, { dispatcher: _refusing, ...options }) => fetch(url, options),
    });
    provider.use(async (context, next) => {
      await next();
      if (context.path === "/token") this.#idToken = context.body?.id_token ?? "";
    });
    const keep = (_context, error) => this.#errors.push(`${error.stack}\n${error.error_detail ?? ""}`);
    for (const event of ERRORS) provider.on(event, keep);
    this.provider = provider;
  }

  #account(subject) {
    const { email, verified = true } = { ...this.people[subject.split("-")[0]], ...this.#settings.person };
    return { accountId: subject, claims: () => ({ sub: subject, email, email_verified: verified, name: subject }) };
  }

  /** Grants every scope without a question. */
  async #grant({ oidc }) {
    const { clientId } = oidc.client;
    const grant = new oidc.provider.Grant({ clientId, accountId: oidc.session.accountId });
    grant.addOIDCScope(SCOPES);
    await grant.save();
    return grant;
  }

  async #answer(request, response) {
    const { pathname } = new URL(request.url, this.issuer);
    if (this.#settings.key === "unknown" && pathname === "/jwks") {
      const keys = this.keys.first.map(({ kty, use, kid, n, e, crv, x, y }) => ({ kty, use, kid, n, e, crv, x, y }));
      return response.setHeader("content-type", "application/json").end(JSON.stringify({ keys }));
    }
    if (!pathname.startsWith(INTERACTION)) return this.provider.callback()(request, response);
    response.setHeader("content-type", "text/html; charset=utf-8");
    if (request.method === "GET") return response.end(page(pathname));
    const { username, password, cancel } = await readForm(request);
    const finish = (result) => this.provider.interactionFinished(request, response, result);
    if (cancel) return finish({ error: "access_denied", error_description: "The user cancelled" });
    if (this.people[username]?.password !== password) {
      return response.end(page(pathname, "Wrong user name or password"));
    }
    const { subject = username, acr, ageSeconds = 0 } = this.#settings;
    return finish({ login: { accountId: subject, acr, ts: Math.floor(Date.now() / 1000) - ageSeconds } });
  }

  /** Returns the algorithm and the claims of the last ID token. */
  async lastIdToken() {
    const [header, claims] = this.#idToken.split(".").map((part) => Buffer.from(part, "base64url").toString());
    return { algorithm: JSON.parse(header).alg, claims: JSON.parse(claims) };
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
