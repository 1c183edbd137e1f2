// An OpenID provider that signs any user in without a question, and is a transmitter of shared signals.
import { createHash, createSign, generateKeyPairSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:https";

const encoded = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Starts the provider with the certificate in `folder`. `claims` are those of the next ID tokens. */
export async function openid(folder) {
  const [cert, key] = await Promise.all(["server.pem", "server.key"].map((name) => readFile(`${folder}/${name}`)));
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const claims = {};
  const codes = new Map();

  function sign(header, payload) {
    const text = `${encoded({ alg: "RS256", kid: "first", ...header })}.${encoded(payload)}`;
    return `${text}.${createSign("RSA-SHA256").update(text).sign(privateKey, "base64url")}`;
  }

  function idToken(nonce) {
    const now = Math.floor(Date.now() / 1000);
    const standard = { iss: issuer, aud: "gatehouse", nonce, iat: now, exp: now + 300, auth_time: now, email_verified: true };
    return sign({}, { ...standard, sub: claims.email, ...claims });
  }

  /** Returns a security event token about a subject. */
  function signal(aud, type, subject, event) {
    const payload = { iss: issuer, aud, iat: Math.floor(Date.now() / 1000), jti: randomBytes(8).toString("hex"), sub_id: subject, events: { [type]: event } };
    return sign({ typ: "secevent+jwt" }, payload);
  }

  /** Redirects back with a code for the nonce and the code challenge of this request. */
  function authorize(query) {
    const code = randomBytes(16).toString("hex");
    codes.set(code, { nonce: query.get("nonce"), challenge: query.get("code_challenge") });
    const back = new URL(query.get("redirect_uri"));
    back.search = new URLSearchParams({ code, state: query.get("state"), iss: issuer });
    return { status: 302, headers: { Location: back.href } };
  }

  function exchange(body) {
    const { nonce, challenge } = codes.get(body.get("code")) ?? {};
    const verified = createHash("sha256").update(body.get("code_verifier") ?? "").digest("base64url");
    if (!challenge || verified !== challenge) return { status: 400, body: { error: "invalid_grant" } };
    return { body: { access_token: "token", token_type: "Bearer", id_token: idToken(nonce) } };
  }

  const metadata = () => ({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    end_session_endpoint: `${issuer}/logout`,
    authorization_response_iss_parameter_supported: true,
  });

  const server = createServer({ cert, key }, async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const { pathname, searchParams } = new URL(request.url, issuer);
    const endpoints = {
      "/.well-known/openid-configuration": () => ({ body: metadata() }),
      "/.well-known/ssf-configuration": () => ({ body: { issuer, jwks_uri: `${issuer}/keys` } }),
      "/keys": () => ({ body: { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "first", use: "sig" }] } }),
      "/authorize": () => authorize(searchParams),
      "/token": () => exchange(new URLSearchParams(Buffer.concat(parts).toString())),
    };
    const { status = 200, headers = {}, body } = endpoints[pathname]?.() ?? { status: 404 };
    response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(body && JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `https://localhost:${server.address().port}`;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { issuer, claims, signal, close };
}
