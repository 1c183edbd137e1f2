// WebAuthn's Signal API: reports to authenticators which passkeys are enrolled.

/**
 * Reports the user's passkeys and names to authenticators, so that password managers hide removed passkeys and show current
 * names. Does nothing in browsers without it.
 */
export async function signalAccepted({ rpId, userId, userName, displayName, credentialIds }) {
  const about = { rpId, userId };
  const allAcceptedCredentialIds = credentialIds.split(" ").filter(Boolean);
  const { signalAllAcceptedCredentials, signalCurrentUserDetails } = window.PublicKeyCredential ?? {};
  await signalAllAcceptedCredentials?.call(PublicKeyCredential, { ...about, allAcceptedCredentialIds }).catch(() => {});
  await signalCurrentUserDetails?.call(PublicKeyCredential, { ...about, name: userName, displayName }).catch(() => {});
}

/** Reports to authenticators that the server does not know this credential any more. */
export async function signalUnknown(rpId, credentialId) {
  await window.PublicKeyCredential?.signalUnknownCredential?.({ rpId, credentialId }).catch(() => {});
}
