//! Fields that are not base64 of UTF-8 within the size limit.

use data_encoding::{BASE64, BASE64_NOPAD, BASE64URL};
use saml_sp::{
    MAX_RESPONSE,
    Reason::{self, Missing, NotBase64, NotUtf8, NotWellFormed, TooLarge},
};

use crate::{
    factory::{Build, field},
    hostile::Hostile,
};

pub(crate) fn all() -> Vec<Hostile> {
    let xml = Build::assertion_signed().within(">Ada Lovelace<", ">Ada Lovelace ~?>~<").xml();
    let sent = field(&xml);
    let of = |name: &str, field: String, reason: Reason| Hostile::bytes(name, field, reason);
    let bytes = |name: &str, bytes: &[u8], reason: Reason| Hostile::bytes(name, BASE64.encode(bytes), reason);
    let utf16 = |mark: u16, order: fn(u16) -> [u8; 2]| -> Vec<u8> {
        std::iter::once(mark).chain(xml.encode_utf16()).flat_map(order).collect()
    };
    let cut = |at: &str, to: &[u8]| {
        let (before, after) = xml.split_once(at).unwrap();
        [before.as_bytes(), to, after.as_bytes()].concat()
    };
    let unpadded = |count: usize| {
        let text = format!("{xml}{}", " ".repeat((3 - xml.len() % 3) % 3 + count));
        BASE64_NOPAD.encode(text.as_bytes())
    };
    vec![
        of("nothing", String::new(), Missing),
        of("longer than the limit", "A".repeat(MAX_RESPONSE + 1), TooLarge),
        of(
            "longer than the limit, and complete",
            field(format!("{xml}{}", " ".repeat(MAX_RESPONSE))),
            TooLarge,
        ),
        of("only line feeds", "\r\n".repeat(1_000), NotWellFormed),
        of("base64 for URLs", BASE64URL.encode(xml.as_bytes()), NotBase64),
        of("no padding", unpadded(1), NotBase64),
        of("no padding of two", unpadded(2), NotBase64),
        of("padding too much", format!("{sent}===="), NotBase64),
        of("padding in the middle", format!("{}{sent}", field("<x/>")), NotBase64),
        of(
            "more after the padding",
            format!("{}{}", field(format!("{xml}{}", " ".repeat((4 - xml.len() % 3) % 3))), "AAAA"),
            NotBase64,
        ),
        of("bits after the end", "PGEvPh==".into(), NotBase64),
        of("a space within", format!("{} {}", &sent[..100], &sent[100..]), NotBase64),
        of("a tab within", format!("{}\t{}", &sent[..100], &sent[100..]), NotBase64),
        of("a NUL within", format!("{}\0{}", &sent[..100], &sent[100..]), NotBase64),
        of("a comma within", format!("{},{}", &sent[..100], &sent[100..]), NotBase64),
        of("the document itself", xml.clone(), NotBase64),
        of("as in a URL", sent.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D"), NotBase64),
        of("base64 of base64", field(&sent), NotWellFormed),
        of("letters beyond ASCII", "Ａ".repeat(400), NotBase64),
        bytes("UTF-16 with its mark", &utf16(0xfeff, u16::to_le_bytes), NotUtf8),
        bytes("UTF-16 reversed", &utf16(0xfeff, u16::to_be_bytes), NotUtf8),
        bytes("UTF-16 without its mark", &utf16(u16::from(b' '), u16::to_le_bytes), NotUtf8),
        bytes("Latin-1", &cut("Ada Lovelace", b"\xc5d\xe4"), NotUtf8),
        bytes("half a character", &cut("Ada Lovelace", b"\xc3"), NotUtf8),
        bytes("a character in too many bytes", &cut("Ada Lovelace", b"\xc0\xbcb\xc0\xbe"), NotUtf8),
        bytes("a surrogate", &cut("Ada Lovelace", b"\xed\xa0\x80"), NotUtf8),
        bytes("a NUL in a value", &cut("Ada Lovelace", b"Ada\0Lovelace"), NotUtf8),
        bytes(
            "a NUL in the NameID",
            &cut(">ada@corp.example<", b">ada@corp.example\0.evil.example<"),
            NotUtf8,
        ),
        bytes("a NUL at the end", &[xml.as_bytes(), b"\0"].concat(), NotUtf8),
        bytes("compressed, as in a URL", &[0x78, 0x9c, 0x4b, 0x4c, 0x4a, 0x06, 0x00], NotUtf8),
        bytes("only a byte order mark", "\u{feff}".as_bytes(), NotWellFormed),
    ]
}
