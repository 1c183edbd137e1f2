// An identity provider whose responses the tests configure, signed or not.
import { execFile } from "node:child_process";
import { createHash, createSign, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { promisify } from "node:util";

const C14N = "http://www.w3.org/2001/10/xml-exc-c14n#";
const POST = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST";
const escaped = (text) => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
/** Escapes text as canonical XML does. */
const canonical = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const fresh = () => `_${randomBytes(16).toString("hex")}`;

async function keys() {
  const folder = await mkdtemp(`${tmpdir()}/idp-`);
  const [key, cert] = [`${folder}/key`, `${folder}/cert`];
  const what = ["-newkey", "rsa:2048", "-nodes", "-sha256", "-days", "20", "-subj", "/CN=idp.example"];
  await promisify(execFile)("openssl", ["req", "-x509", ...what, "-keyout", key, "-out", cert]);
  const made = { key: await readFile(key, "utf8"), cert: await readFile(cert, "utf8") };
  await rm(folder, { recursive: true });
  return made;
}

/** Builds an assertion in canonical form: the parts before and after its signature. */
function assertion(id, { issuer, audience, acs, request, email, attributes }) {
  const at = (seconds) => new Date(Date.now() + seconds * 1000).toISOString().replace(/\.\d+/, "");
  const values = Object.entries(attributes).map(([name, value]) => `<saml:Attribute Name="${name}"><saml:AttributeValue>${canonical(value)}</saml:AttributeValue></saml:Attribute>`);
  return [
    `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${id}" IssueInstant="${at(0)}" Version="2.0"><saml:Issuer>${issuer}</saml:Issuer>`,
    `<saml:Subject><saml:NameID Format="urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress">${email}</saml:NameID>`
    + `<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData InResponseTo="${request}" NotOnOrAfter="${at(300)}" Recipient="${acs}"></saml:SubjectConfirmationData></saml:SubjectConfirmation></saml:Subject>`
    + `<saml:Conditions NotBefore="${at(-60)}" NotOnOrAfter="${at(300)}"><saml:AudienceRestriction><saml:Audience>${audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions>`
    + `<saml:AuthnStatement AuthnInstant="${at(0)}" SessionIndex="_1"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>`
    + `<saml:AttributeStatement>${values.join("")}</saml:AttributeStatement></saml:Assertion>`,
  ];
}

function signature(id, text, key) {
  const one = (name, algorithm) => `<ds:${name} Algorithm="${algorithm}"></ds:${name}>`;
  const digest = createHash("sha256").update(text).digest("base64");
  const info = one("CanonicalizationMethod", C14N) + one("SignatureMethod", "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256")
    + `<ds:Reference URI="#${id}"><ds:Transforms>${one("Transform", "http://www.w3.org/2000/09/xmldsig#enveloped-signature")}${one("Transform", C14N)}</ds:Transforms>`
    + `${one("DigestMethod", "http://www.w3.org/2001/04/xmlenc#sha256")}<ds:DigestValue>${digest}</ds:DigestValue></ds:Reference>`;
  const signed = createSign("RSA-SHA256").update(`<ds:SignedInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#">${info}</ds:SignedInfo>`).sign(key, "base64");
  return `<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:SignedInfo>${info}</ds:SignedInfo><ds:SignatureValue>${signed}</ds:SignatureValue></ds:Signature>`;
}

/** Starts the server. `answer` configures the next response; with `elsewhere`, the server redirects there instead. */
export async function idp() {
  const { key, cert } = await keys();
  const issuer = "urn:example:idp";
  const answer = { signed: true, email: "", attributes: {} };

  /** Builds the page that posts the response to a request. */
  function answered({ SAMLRequest, RelayState }) {
    const asked = Buffer.from(SAMLRequest, "base64").toString();
    const value = (pattern) => pattern.exec(asked)[1];
    const about = {
      issuer,
      audience: value(/<saml:Issuer>([^<]+)</),
      acs: value(/AssertionConsumerServiceURL="([^"]+)"/),
      request: value(/ ID="([^"]+)"/),
      ...answer,
    };
    const id = fresh();
    const [before, after] = assertion(id, about);
    const whole = before + (answer.signed ? signature(id, before + after, key) : "") + after;
    const instant = new Date().toISOString().replace(/\.\d+/, "");
    const response = `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="${fresh()}" Version="2.0" IssueInstant="${instant}" Destination="${about.acs}" InResponseTo="${about.request}">`
      + `<saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${issuer}</saml:Issuer>`
      + `<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>${whole}</samlp:Response>`;
    const fields = { SAMLResponse: Buffer.from(response).toString("base64"), RelayState };
    const inputs = Object.entries(fields).map(([name, text]) => `<input type="hidden" name="${name}" value="${escaped(text)}">`);
    return `<!doctype html><title>Elsewhere</title><form method="post" action="${escaped(about.acs)}">${inputs.join("")}</form><script>document.forms[0].submit()</script>`;
  }

  const server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    if (request.url === "/metadata") {
      const base64 = cert.replace(/-----[^-]+-----|\s/g, "");
      return response.writeHead(200, { "Content-Type": "application/samlmetadata+xml" }).end(
        `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${issuer}"><IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">`
        + `<KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>${base64}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>`
        + `<SingleSignOnService Binding="${POST}" Location="${sso}"/></IDPSSODescriptor></EntityDescriptor>`,
      );
    }
    if (answer.elsewhere) return response.writeHead(302, { Location: answer.elsewhere }).end();
    const body = Object.fromEntries(new URLSearchParams(Buffer.concat(parts).toString()));
    response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" }).end(answered(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // The same site as the server: over http, browsers send its cookies only from there.
  const url = `http://localhost:${server.address().port}`;
  const sso = `${url}/sso`;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { issuer, cert, sso, metadata: `http://127.0.0.1:${server.address().port}/metadata`, answer, close };
}
