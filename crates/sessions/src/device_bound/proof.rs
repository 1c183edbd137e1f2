//! Proofs of possession of a key.

use data_encoding::BASE64URL_NOPAD;
use serde::Deserialize;

use super::key::DeviceKey;

/// Maximum length of a proof. One with an RSA key of 4096 bits has about 1,600 characters.
const LENGTH: usize = 4096;
/// The type of a proof in its header.
const TYPE: &str = "dbsc+jwt";

/// A proof that a browser has a key: a JWT in the header `Secure-Session-Response`. It is not verified yet.
#[derive(Debug)]
pub struct Proof {
    /// Header and payload as they were signed.
    signed: String,
    signature: Vec<u8>,
    algorithm: String,
    /// The key, in a proof that registers one.
    pub key: Option<DeviceKey>,
    /// The challenge that the proof answers.
    pub challenge: String,
}

#[derive(Deserialize)]
struct Header {
    typ: String,
    alg: String,
    jwk: Option<DeviceKey>,
}

#[derive(Deserialize)]
struct Payload {
    jti: String,
}

impl Proof {
    /// Parses the value of `Secure-Session-Response`, with or without quotes. `None` if it is not a proof.
    pub fn parse(header: &str) -> Option<Self> {
        let token = super::headers::unquoted(header);
        if token.len() > LENGTH {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        let bytes = |part: &str| BASE64URL_NOPAD.decode(part.as_bytes()).ok();
        let header: Header = serde_json::from_slice(&bytes(header)?).ok()?;
        let payload: Payload = serde_json::from_slice(&bytes(payload)?).ok()?;
        (header.typ == TYPE).then_some(Self {
            signed: signed.to_owned(),
            signature: bytes(signature)?,
            algorithm: header.alg,
            key: header.jwk,
            challenge: payload.jti,
        })
    }

    /// Returns whether this key signed the proof, with the algorithm that belongs to the key.
    pub fn is_signed_with(&self, key: &DeviceKey) -> bool {
        self.algorithm == key.algorithm() && key.verifies(self.signed.as_bytes(), &self.signature)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// A proof that Chromium 156 sent, with the challenge `chal1`.
    pub(in super::super) const REGISTRATION: &str = "eyJhbGciOiJFUzI1NiIsImp3ayI6eyJjcnYiOiJQLTI1NiIsImt0eSI6IkVDIiwieCI6IjZSZHNVbUE3c1lTTXow\
        SGY3OUh3LUNkUW1zZ3dlU0hjYm5vUDVBZG1SV3ciLCJ5IjoibGVpLXBheF9rUkYtVGh5S1VuRHBnQmZCUER3X3ozRjNZcDRCTktNeWZzRSJ9LCJ0\
        eXAiOiJkYnNjK2p3dCJ9.eyJqdGkiOiJjaGFsMSJ9.y1h3-h91IxywGv-HCX-iUPXysx_sqSyBRT54ZtwVRHvLgoR5SB3ffiBNlTC48A1qIkob\
        RwqKDWWEv7_XclFeUA";
    /// The next proof of the same browser, with the challenge `chal2`.
    pub(in super::super) const REFRESH: &str = "eyJhbGciOiJFUzI1NiIsInR5cCI6ImRic2Mrand0In0.eyJqdGkiOiJjaGFsMiJ9.qZ8ZeXYT3sNH7FvcJsZ_mu_kaHbe\
        jkfHJAQouH0lDSK-brF_RQX0pUir4r0ZL_T4dI3EyjfQ2GTFE85xhwvvPQ";

    /// A proof with an RSA key of 2048 bits, signed with OpenSSL.
    const RSA: &str = "eyJhbGciOiJSUzI1NiIsImp3ayI6eyJlIjoiQVFBQiIsImt0eSI6IlJTQSIsIm4iOiJ1LWg2MV9odHFyTXdmcEZ5ZVBURFlOZFRMeWtlQ19JVXFu\
        UnpvSDRxcU0xNUxhLTNGekYtb2R0QTRLVnp0WENnUkJHQlFBaDBVR09LSTRHWjd3bVI5Mk9wT2QzWFVDUnQ5WDNmUThoSmJZUXlYNURtd3kyR3Bq\
        S0p0M09VdllzWmp1SThGS3Nickc3S2hIaDZpVWlFZEhOX05qTHA2QTVmZElUNkNtYzdYdXJBUVE2X2JIU1BJMVF2OF9SREd2eXpBc3NZMGdxSWlX\
        a2s1Q0tRZ3VROEg5cjZKQktpaDhRejlOQ3hZV1J1a1Z1cGYyMUhsaFdVNFZyV2dWcUxUb21pVlVDMHJaYzlSM1JId0ZoRjdxNDVCOFVWS3NVNVVy\
        RU9LQldFUzBSWlZwOERuV1lvanJYU3JOcGJWdk5fR3FaRzJ0RFM3eWVlaUc1eDhDNTZVTXhERHcifSwidHlwIjoiZGJzYytqd3QifQ.eyJqdGkiO\
        iJjaGFsMSJ9.fKy0tcY6Mv-8pFMPi_CgXG-0HTOynVngWGWiQ7IOR4SRJuqK7anzc2GHSjCvZxtGIGJ4jy9oPnMR2inHn4WswZUh_U3tl9F93b4p\
        XKF0L5Xx1KCxLkPuaaB1qqYMAoV1LbJicuUmmdrSOdOG2jMeUywKFykeL8009zY8o4e-H4SvvNoc9htDnPcbwIr1evYYf_rjGmOVTI3B04R8RuDV\
        PI7Z6cQWA3gBubd9towqqKrIwJy33KkRRZS3ZcBgVPodgOiizTKrExZF8yZqwaVU9ZsYDEPCGiTXyym28Ti3KOL0reU0COCxhP2vgHQq7BbLG016\
        xeN_MPi9p1BEUVvZbg";

    fn forged(header: &Value) -> String {
        let text = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
        format!("{}.{}.{}", text(header), text(&json!({ "jti": "chal2" })), BASE64URL_NOPAD.encode(&[1; 64]))
    }

    #[test]
    fn proofs_of_a_browser_are_verified() {
        let first = Proof::parse(REGISTRATION).unwrap();
        let key = first.key.clone().unwrap();
        assert!(first.is_signed_with(&key) && first.challenge == "chal1");
        for text in [REFRESH.to_owned(), format!("\"{REFRESH}\"")] {
            let second = Proof::parse(&text).unwrap();
            assert!(second.is_signed_with(&key) && second.challenge == "chal2" && second.key.is_none());
        }
        let other = REFRESH.replace("qZ8Z", "qZ8Y");
        assert!(!Proof::parse(&other).unwrap().is_signed_with(&key), "another signature");
        let swapped = REFRESH.replace("eyJqdGkiOiJjaGFsMiJ9", "eyJqdGkiOiJjaGFsMSJ9");
        assert!(!Proof::parse(&swapped).unwrap().is_signed_with(&key), "another challenge");
    }

    #[test]
    fn proofs_are_at_most_4096_characters_long() {
        let proof = |algorithm: &str, length: usize| {
            let text = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
            let header = json!({ "typ": TYPE, "alg": algorithm });
            let payload = json!({ "jti": "x".repeat(length) });
            format!("{}.{}.{}", text(&header), text(&payload), BASE64URL_NOPAD.encode(&[1; 64]))
        };
        // Base64 has no text of some lengths, so the header has one of two lengths.
        let proofs: Vec<_> = ["ES256", "ES2567"]
            .into_iter()
            .flat_map(|algorithm| (2900..3000).map(move |length| proof(algorithm, length)))
            .collect();
        for length in [4096, 4097] {
            assert!(proofs.iter().any(|proof| proof.len() == length), "{length}");
        }
        for proof in proofs {
            assert_eq!(Proof::parse(&proof).is_some(), proof.len() <= 4096, "{}", proof.len());
        }
    }

    #[test]
    fn proofs_with_rsa_keys_are_verified() {
        let proof = Proof::parse(RSA).unwrap();
        let key = proof.key.clone().unwrap();
        assert!(proof.is_signed_with(&key));
        let swapped = RSA.replace("eyJqdGkiOiJjaGFsMSJ9", "eyJqdGkiOiJjaGFsMiJ9");
        assert!(!Proof::parse(&swapped).unwrap().is_signed_with(&key));
        let other = Proof::parse(REGISTRATION).unwrap();
        assert!(!other.is_signed_with(&key) && !proof.is_signed_with(&other.key.unwrap()));
    }

    #[test]
    fn other_types_and_algorithms_are_refused() {
        let key = Proof::parse(REGISTRATION).unwrap().key.unwrap();
        for alg in ["none", "HS256", "RS256", "es256", ""] {
            let proof = Proof::parse(&forged(&json!({ "typ": TYPE, "alg": alg }))).unwrap();
            assert!(!proof.is_signed_with(&key), "{alg}");
        }
        for header in [json!({ "typ": "JWT", "alg": "ES256" }), json!({ "alg": "ES256" }), json!([])] {
            assert!(Proof::parse(&forged(&header)).is_none(), "{header}");
        }
        let long = format!("{}{REFRESH}", "e".repeat(LENGTH));
        for text in ["", "a", "a.b", "a.b.c", "..", "a.b.c.d", "\"", &long] {
            assert!(Proof::parse(text).is_none(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "\\PC{0,64}", cut in 0..REGISTRATION.len()) {
            let _ = Proof::parse(&text);
            let proof = REGISTRATION.get(..cut).and_then(Proof::parse);
            let is_signed = proof.is_some_and(|proof| proof.key.as_ref().is_some_and(|key| proof.is_signed_with(key)));
            prop_assert!(!is_signed);
        }
    }
}
