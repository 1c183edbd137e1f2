//! Attacks by a user who controls the URL, the DNS server or the receiver, and the expected outcomes.

use url::ParseError;
use webhooks::client::{Failure, UrlError};

use crate::{
    receiver::Step::{self, Answer as Body, Drip, Forever, Hang, Read, Send},
    support::Proof,
};

/// An attack.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Try {
    /// A POST to this URL; `{trap}` is a local port that nothing may connect to.
    Url(&'static str),
    /// A POST to a host name with these addresses.
    Name(&'static [&'static str]),
    /// A POST to a host name that does not exist.
    UnknownName,
    /// A POST to a host name whose DNS server does not respond.
    SilentNames,
    /// A POST to an unencrypted receiver with this script.
    Post(&'static [Step]),
    /// A GET of at most 1,000 bytes.
    Get(&'static [Step]),
    /// A POST to a receiver with TLS and this script.
    Tls(Proof, &'static [Step]),
    /// A POST over TLS to a receiver without TLS.
    NotTls(&'static [Step]),
    /// A POST to a closed port.
    Nobody,
    /// A POST to a port that completes connections but never accepts them.
    NeverTaken,
}

/// The outcome of an attack.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Outcome {
    /// The URL is invalid.
    Refused(UrlError),
    /// The URL has a blocked literal address.
    Literal,
    /// The exchange fails.
    Fails(Failure),
    /// The response has this status.
    Status(u16),
}

use Failure::{Blocked, Connect, Protocol, Timeout, TooLarge};
use Outcome::{Fails, Literal, Refused, Status};
use Try::{Get, Name, NeverTaken, Nobody, NotTls, Post, SilentNames, Tls, UnknownName, Url};
use UrlError::{Character, Credentials, Fragment, Host, Http, Malformed, Port, Scheme};

const NO_IPV4: UrlError = Malformed(ParseError::InvalidIpv4Address);
const NO_IPV6: UrlError = Malformed(ParseError::InvalidIpv6Address);
const NO_NAME: UrlError = Malformed(ParseError::IdnaError);
const RELATIVE: UrlError = Malformed(ParseError::RelativeUrlWithoutBase);
const MANY: [&str; 20] = {
    let mut many = ["1.1.1.1"; 20];
    many[19] = "10.0.0.1";
    many
};
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const TWO_GB: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2147483648\r\n\r\n";

#[rustfmt::skip]
pub(crate) const TABLE: &[(&str, Try, Outcome)] = &[
    // Spellings of loopback addresses.
    ("loopback",                        Url("https://127.0.0.1:{trap}/"), Literal),
    ("short loopback",                  Url("https://127.1:{trap}/"), Literal),
    ("decimal loopback",                Url("https://2130706433:{trap}/"), Literal),
    ("hexadecimal loopback",            Url("https://0x7f000001:{trap}/"), Literal),
    ("short hexadecimal loopback",      Url("https://0x7f.1:{trap}/"), Literal),
    ("hexadecimal loopback by parts",   Url("https://0x7f.0x0.0x0.0x1:{trap}/"), Literal),
    ("octal loopback",                  Url("https://017700000001:{trap}/"), Literal),
    ("octal loopback by parts",         Url("https://0177.0.0.1:{trap}/"), Literal),
    ("octal loopback with zeros",       Url("https://00000177.0.0.01:{trap}/"), Literal),
    ("loopback with a dot",             Url("https://127.0.0.1.:{trap}/"), Literal),
    ("loopback in full width",          Url("https://１２７.０.０.１:{trap}/"), Literal),
    ("loopback in circles",             Url("https://①②⑦.⓪.⓪.①:{trap}/"), Literal),
    ("loopback with ideographic dots",  Url("https://127。0。0。1:{trap}/"), Literal),
    ("percent-encoded loopback",        Url("https://%31%32%37.0.0.1:{trap}/"), Literal),
    ("percent-encoded dots",            Url("https://127%2e0%2e0%2e1:{trap}/"), Literal),
    ("loopback in upper case",          Url("HTTPS://0X7F.0.0.1:{trap}/"), Literal),
    ("loopback without slashes",        Url("https:127.0.0.1:{trap}/"), Literal),
    ("loopback with more slashes",      Url("https:////127.0.0.1:{trap}/"), Literal),
    ("another loopback",                Url("https://127.8.8.8:{trap}/"), Literal),
    ("unspecified address",             Url("https://0.0.0.0:{trap}/"), Literal),
    ("nothing",                         Url("https://0:{trap}/"), Literal),
    // Other addresses that are not global.
    ("private 10",                      Url("https://10.0.0.1/"), Literal),
    ("private 172",                     Url("https://172.31.255.254/"), Literal),
    ("private 192",                     Url("https://192.168.1.1/"), Literal),
    ("private, hexadecimal",            Url("https://0xc0a80101/"), Literal),
    ("carrier's NAT",                   Url("https://100.64.0.1/"), Literal),
    ("metadata in carrier's NAT",       Url("https://100.100.100.200/latest/meta-data/"), Literal),
    ("metadata",                        Url("https://169.254.169.254/latest/meta-data/"), Literal),
    ("decimal metadata",                Url("https://2852039166/"), Literal),
    ("hexadecimal metadata",            Url("https://0xA9FEA9FE/"), Literal),
    ("octal metadata",                  Url("https://0251.0376.0251.0376/"), Literal),
    ("metadata in three parts",         Url("https://169.254.43518/"), Literal),
    ("metadata of another cloud",       Url("https://192.0.0.192/"), Literal),
    ("tasks' metadata",                 Url("https://169.254.170.2/v2/credentials"), Literal),
    ("benchmarks",                      Url("https://198.18.0.1/"), Literal),
    ("documentation",                   Url("https://203.0.113.7/"), Literal),
    ("multicast",                       Url("https://224.0.0.1/"), Literal),
    ("reserved",                        Url("https://240.0.0.1/"), Literal),
    ("broadcast",                       Url("https://255.255.255.255/"), Literal),
    // The same in IPv6.
    ("IPv6 loopback",                   Url("https://[::1]:{trap}/"), Literal),
    ("IPv6 loopback in full",           Url("https://[0:0:0:0:0:0:0:1]:{trap}/"), Literal),
    ("IPv6 unspecified",                Url("https://[::]:{trap}/"), Literal),
    ("mapped loopback",                 Url("https://[::ffff:127.0.0.1]:{trap}/"), Literal),
    ("mapped loopback in hexadecimal",  Url("https://[::FFFF:7F00:1]:{trap}/"), Literal),
    ("mapped metadata",                 Url("https://[::ffff:a9fe:a9fe]/"), Literal),
    ("compatible loopback",             Url("https://[::127.0.0.1]:{trap}/"), Literal),
    ("translated loopback",             Url("https://[::ffff:0:127.0.0.1]:{trap}/"), Literal),
    ("NAT64 of loopback",               Url("https://[64:ff9b::127.0.0.1]:{trap}/"), Literal),
    ("NAT64 of metadata",               Url("https://[64:ff9b::a9fe:a9fe]/"), Literal),
    ("local NAT64",                     Url("https://[64:ff9b:1::a00:1]/"), Literal),
    ("6to4 of loopback",                Url("https://[2002:7f00:1::]/"), Literal),
    ("6to4 of metadata",                Url("https://[2002:a9fe:a9fe::1]/"), Literal),
    ("Teredo",                          Url("https://[2001:0:7f00:1::80ff:fffe]/"), Literal),
    ("unique local",                    Url("https://[fc00::1]/"), Literal),
    ("metadata in unique local",        Url("https://[fd00:ec2::254]/"), Literal),
    ("link-local",                      Url("https://[fe80::1]/"), Literal),
    ("site-local",                      Url("https://[fec0::1]/"), Literal),
    ("IPv6 multicast",                  Url("https://[ff02::1]/"), Literal),
    ("IPv6 documentation",              Url("https://[2001:db8::1]/"), Literal),
    ("IPv6 discard",                    Url("https://[100::1]/"), Literal),
    // Invalid addresses that look valid.
    ("too large a part",                Url("https://256.0.0.1/"), Refused(NO_IPV4)),
    ("too many parts",                  Url("https://127.0.0.0.1/"), Refused(NO_IPV4)),
    ("too large a number",              Url("https://4294967296/"), Refused(NO_IPV4)),
    ("invalid octal",                   Url("https://0189.0.0.1/"), Refused(NO_IPV4)),
    ("a zone",                          Url("https://[fe80::1%25lo]/"), Refused(NO_IPV6)),
    ("an open bracket",                 Url("https://[::1/"), Refused(NO_IPV6)),
    ("a zero byte in a host",           Url("https://127.0.0.1%00.example.com/"), Refused(NO_NAME)),
    ("an @ in a host",                  Url("https://good%40127.0.0.1/"), Refused(NO_NAME)),
    ("a name that TLS rejects",         Url("https://a(b).example.com/"), Refused(Host)),
    ("no host",                         Url("https://"), Refused(Host)),
    ("only a port",                     Url("https://:443/"), Refused(Host)),
    // Ambiguous hosts.
    ("a user",                          Url("https://good.example@127.0.0.1:{trap}/"), Refused(Credentials)),
    ("a user and a password",           Url("https://good.example:443@127.0.0.1:{trap}/"), Refused(Credentials)),
    ("only a password",                 Url("https://:good@127.0.0.1:{trap}/"), Refused(Credentials)),
    ("two @",                           Url("https://a@good.example@127.0.0.1:{trap}/"), Refused(Credentials)),
    ("an empty user",                   Url("https://@127.0.0.1:{trap}/"), Literal),
    ("a fragment",                      Url("https://127.0.0.1:{trap}#@good.example/"), Refused(Fragment)),
    ("an empty fragment",               Url("https://good.example/#"), Refused(Fragment)),
    ("a backslash",                     Url("https://good.example\\@127.0.0.1:{trap}/"), Refused(Character)),
    ("backslashes for slashes",         Url("https:\\\\127.0.0.1:{trap}\\"), Refused(Character)),
    ("a tab in the scheme",             Url("ht\ttps://127.0.0.1:{trap}/"), Refused(Character)),
    ("a new line in the path",          Url("https://good.example/ HTTP/1.1\r\nHost: x"), Refused(Character)),
    ("a space before it",               Url(" https://127.0.0.1:{trap}/"), Refused(Character)),
    ("an ideographic space",            Url("https://good.example/\u{3000}"), Refused(Character)),
    ("port 0",                          Url("https://good.example:0/"), Refused(Port)),
    ("no such port",                    Url("https://good.example:65536/"), Refused(Malformed(ParseError::InvalidPort))),
    // Other schemes.
    ("http",                            Url("http://good.example/"), Refused(Http)),
    ("http in upper case",              Url("HTTP://127.0.0.1:{trap}/"), Refused(Http)),
    ("file",                            Url("file:///etc/passwd"), Refused(Scheme)),
    ("gopher",                          Url("gopher://127.0.0.1:6379/_INFO"), Refused(Scheme)),
    ("dict",                            Url("dict://127.0.0.1:11211/stats"), Refused(Scheme)),
    ("ftp",                             Url("ftp://127.0.0.1/"), Refused(Scheme)),
    ("ldap",                            Url("ldap://127.0.0.1/"), Refused(Scheme)),
    ("a WebSocket URL",                 Url("wss://127.0.0.1/"), Refused(Scheme)),
    ("a UNIX socket URL",               Url("unix:/var/run/docker.sock"), Refused(Scheme)),
    ("data",                            Url("data:text/plain,x"), Refused(Scheme)),
    ("javascript",                      Url("javascript:alert(1)"), Refused(Scheme)),
    ("no scheme",                       Url("127.0.0.1"), Refused(RELATIVE)),
    ("slashes without a scheme",        Url("//127.0.0.1/"), Refused(RELATIVE)),
    ("an empty URL",                    Url(""), Refused(RELATIVE)),
    // Host names.
    ("localhost of the system",         Url("https://localhost:{trap}/"), Fails(Blocked)),
    ("localhost in upper case",         Url("https://LOCALHOST:{trap}/"), Fails(Blocked)),
    ("a name of this machine",          Name(&["127.0.0.1"]), Fails(Blocked)),
    ("a name of a private address",     Name(&["10.0.0.5"]), Fails(Blocked)),
    ("a name of metadata",              Name(&["169.254.169.254"]), Fails(Blocked)),
    ("a name of IPv6 loopback",         Name(&["::1"]), Fails(Blocked)),
    ("a name of a mapped address",      Name(&["::ffff:127.0.0.1"]), Fails(Blocked)),
    ("a name of NAT64",                 Name(&["64:ff9b::7f00:1"]), Fails(Blocked)),
    ("a mixed answer",                  Name(&["93.184.215.14", "127.0.0.1"]), Fails(Blocked)),
    ("a mixed answer of IPv6",          Name(&["2606:4700::1", "fd00::1"]), Fails(Blocked)),
    ("a mixed answer of both",          Name(&["2606:4700::1", "93.184.215.14", "10.0.0.1"]), Fails(Blocked)),
    ("a private address after many",    Name(&MANY), Fails(Blocked)),
    ("a name without addresses",        Name(&[]), Fails(Connect)),
    ("an unknown name",                 UnknownName, Fails(Connect)),
    ("a silent name server",            SilentNames, Fails(Timeout)),
    // Redirects to the trap.
    ("301",                             Post(&[Read, Send("HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:{trap}/\r\nContent-Length: 0\r\n\r\n"), Hang]), Status(301)),
    ("302",                             Get(&[Read, Send("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{trap}/\r\nContent-Length: 0\r\n\r\n"), Hang]), Status(302)),
    ("307",                             Post(&[Read, Send("HTTP/1.1 307 There\r\nLocation: //127.0.0.1:{trap}/\r\nContent-Length: 0\r\n\r\n"), Hang]), Status(307)),
    ("308",                             Post(&[Read, Send("HTTP/1.1 308 There\r\nLocation: http://127.0.0.1:{trap}/\r\nContent-Length: 0\r\n\r\n"), Hang]), Status(308)),
    ("refresh",                         Get(&[Read, Send("HTTP/1.1 200 OK\r\nRefresh: 0;url=http://127.0.0.1:{trap}/\r\nContent-Length: 0\r\n\r\n"), Hang]), Status(200)),
    ("an alternative service",          Post(&[Read, Send("HTTP/1.1 200 OK\r\nAlt-Svc: http/1.1=\"127.0.0.1:{trap}\"\r\nContent-Length: 0\r\n\r\n"), Hang]), Status(200)),
    ("use a proxy",                     Post(&[Read, Send("HTTP/1.1 305 Use Proxy\r\nLocation: http://127.0.0.1:{trap}/\r\nContent-Length: 0\r\n\r\n"), Hang]), Status(305)),
    ("a proxy's challenge",             Post(&[Read, Send("HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n"), Hang]), Status(407)),
    // Slow receivers.
    ("never accepted",                  NeverTaken, Fails(Timeout)),
    ("silent from the beginning",       Post(&[Hang]), Fails(Timeout)),
    ("silent after the request",        Post(&[Read, Hang]), Fails(Timeout)),
    ("silent in its head",              Post(&[Read, Send("HTTP/1.1 200 OK\r\nContent-"), Hang]), Fails(Timeout)),
    ("silent in its body",              Post(&[Read, Send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), Hang]), Fails(Timeout)),
    ("silent in a body of 2 GB",        Post(&[Read, Send(TWO_GB), Hang]), Fails(Timeout)),
    ("drips its head",                  Post(&[Read, Drip("HTTP/1.1 200 OK\r\nX-A: b\r\n")]), Fails(Timeout)),
    ("drips its body",                  Post(&[Read, Send(TWO_GB), Drip("x")]), Fails(Timeout)),
    ("drips chunks",                    Post(&[Read, Send(CHUNKED), Drip("1\r\nx\r\n")]), Fails(Timeout)),
    ("drips a body to be fetched",      Get(&[Read, Send(CHUNKED), Drip("1\r\nx\r\n")]), Fails(Timeout)),
    // Endless responses.
    ("endless 100",                     Post(&[Read, Forever("HTTP/1.1 100 Continue\r\n\r\n")]), Fails(Timeout)),
    ("endless 103",                     Post(&[Read, Forever("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")]), Fails(Timeout)),
    ("endless fields",                  Post(&[Read, Send("HTTP/1.1 200 OK\r\n"), Forever("X-Filler: aaaaaaaa\r\n")]), Fails(Protocol)),
    ("an endless field",                Post(&[Read, Send("HTTP/1.1 200 OK\r\nX-Filler: "), Forever("a")]), Fails(Protocol)),
    ("an endless first line",           Post(&[Read, Forever("HTTP/1.1 200 ")]), Fails(Protocol)),
    ("endless chunks",                  Post(&[Read, Send(CHUNKED), Forever("4\r\nabcd\r\n")]), Status(200)),
    ("endless chunks to be fetched",    Get(&[Read, Send(CHUNKED), Forever("4\r\nabcd\r\n")]), Fails(TooLarge)),
    ("an endless size of a chunk",      Post(&[Read, Send(CHUNKED), Forever("0")]), Fails(Timeout)),
    ("too large a chunk",               Post(&[Read, Send(CHUNKED), Send("fffffffffffffffff\r\n"), Hang]), Fails(Protocol)),
    ("an endless extension",            Post(&[Read, Send(CHUNKED), Send("1;"), Forever("a")]), Fails(Protocol)),
    ("endless extensions",              Post(&[Read, Send(CHUNKED), Forever("1;a=bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\r\nx\r\n")]), Fails(Protocol)),
    ("endless trailers",                Post(&[Read, Send(CHUNKED), Send("0\r\n"), Forever("X-Filler: aaaaaaaa\r\n")]), Fails(Protocol)),
    ("a body of 2 GB",                  Post(&[Read, Send(TWO_GB), Forever("x")]), Status(200)),
    ("a body of 2 GB to be fetched",    Get(&[Read, Send(TWO_GB), Hang]), Fails(TooLarge)),
    ("a body until the end",            Post(&[Read, Send("HTTP/1.1 200 OK\r\n\r\n"), Forever("x")]), Status(200)),
    ("one byte too many",               Get(&[Read, Body(1_001)]), Fails(TooLarge)),
    ("exactly the limit",               Get(&[Read, Body(1_000)]), Status(200)),
    // Invalid HTTP.
    ("shorter than declared",           Post(&[Read, Send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")]), Fails(Protocol)),
    ("longer than declared",            Post(&[Read, Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500 No\r\n\r\n"), Hang]), Status(200)),
    ("two lengths",                     Post(&[Read, Send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc"), Hang]), Fails(Protocol)),
    ("a negative length",               Post(&[Read, Send("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nabc"), Hang]), Fails(Protocol)),
    ("closed at once",                  Post(&[]), Fails(Protocol)),
    ("closed after the request",        Post(&[Read]), Fails(Protocol)),
    ("closed in its head",              Post(&[Read, Send("HTTP/1.1 200 OK\r\nContent-")]), Fails(Protocol)),
    ("closed in a chunk",               Post(&[Read, Send(CHUNKED), Send("9\r\nabc")]), Fails(Protocol)),
    ("mail",                            Post(&[Send("220 mail.example ESMTP\r\n"), Hang]), Fails(Protocol)),
    ("a shell",                         Post(&[Send("SSH-2.0-OpenSSH_9.9\r\n"), Hang]), Fails(Protocol)),
    ("HTTP/0.9",                        Post(&[Read, Send("<html>hello</html>\r\n\r\n")]), Fails(Protocol)),
    ("HTTP/2",                          Post(&[Read, Send("\0\0\0\u{4}\0\0\0\0\0"), Hang]), Fails(Protocol)),
    ("HTTP/9",                          Post(&[Read, Send("HTTP/9.0 200 OK\r\n\r\n"), Hang]), Fails(Protocol)),
    ("no status",                       Post(&[Read, Send("HTTP/1.1 000 OK\r\n\r\n"), Hang]), Fails(Protocol)),
    ("a strange status",                Post(&[Read, Send("HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n"), Hang]), Status(999)),
    ("a protocol upgrade",              Post(&[Read, Send("HTTP/1.1 101 Switch\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"), Forever("x")]), Status(101)),
    ("nobody listens",                  Nobody, Fails(Connect)),
    // TLS.
    ("a good certificate",              Tls(Proof::Good, &[Read, Send(OK)]), Status(200)),
    ("a self-signed certificate",       Tls(Proof::SelfSigned, &[Read, Send(OK)]), Fails(Failure::Tls)),
    ("an expired certificate",          Tls(Proof::Expired, &[Read, Send(OK)]), Fails(Failure::Tls)),
    ("a certificate not yet valid",     Tls(Proof::NotYet, &[Read, Send(OK)]), Fails(Failure::Tls)),
    ("another host's certificate",      Tls(Proof::WrongName, &[Read, Send(OK)]), Fails(Failure::Tls)),
    ("only HTTP/2",                     Tls(Proof::OnlyHttp2, &[Read, Send(OK)]), Fails(Failure::Tls)),
    ("closed after TLS",                Tls(Proof::Good, &[Read]), Fails(Protocol)),
    ("silent after TLS",                Tls(Proof::Good, &[Read, Hang]), Fails(Timeout)),
    ("TLS that never starts",           NotTls(&[Hang]), Fails(Timeout)),
    ("TLS that drips",                  NotTls(&[Drip("\u{16}\u{3}\u{3}\u{1f}\u{1f}aaaaaaaaaaaaaaaa")]), Fails(Timeout)),
    ("plain HTTP instead of TLS",       NotTls(&[Send("HTTP/1.1 400 Bad Request\r\n\r\n"), Hang]), Fails(Failure::Tls)),
    ("closed instead of TLS",           NotTls(&[]), Fails(Failure::Tls)),
];
