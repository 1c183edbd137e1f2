//! Bindings to libxmlsec1: the only unsafe code of this crate.
//!
//! The structure has been checked before; this module makes no decision about it. It locates the element by its path,
//! returns only the digested bytes, and restricts the C libraries: no network, no recovery, no entities, one ID,
//! same-document references, two transforms, one digest method, one signature method.
#![expect(unsafe_code, reason = "calls libxmlsec1, a C library; each block states why it is sound")]

use std::{
    ffi::{CStr, CString, c_int, c_void},
    ptr::{null, null_mut},
    sync::Once,
};

use libxml::{
    parser::{Parser, ParserOptions},
    tree::{Document, Node},
};
use xmlsec::{
    XmlSecKey, XmlSecKeyFormat, XmlSecSignatureContext,
    bindings::{self as c},
};

use super::shape::{Algorithm, Digest, Expected};
use crate::{
    certificate::Certificate,
    keys::{KeyError, KeyPair},
};

unsafe extern "C" {
    /// From `xmlsec/errors.h`, which the bindings lack.
    fn xmlSecErrorsDefaultCallbackEnableOutput(enabled: c_int);
}

/// Discards error messages: the libraries' output about hostile input must not reach stderr.
unsafe extern "C" fn silent(_: *mut c_void, _: *mut c::xmlError) {}

/// Initializes the C libraries once per process. They read files only then. Call it at startup; otherwise the first
/// use does it.
pub fn warm_up() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        // SAFETY: takes no argument, and `Once` ensures that no other thread uses the library yet.
        unsafe { c::xmlInitParser() };
        drop(XmlSecSignatureContext::new());
        // SAFETY: sets one integer variable of the library.
        unsafe { xmlSecErrorsDefaultCallbackEnableOutput(0) };
    });
    // SAFETY: sets the handler of this thread; `silent` is static and reads none of its arguments.
    unsafe { c::xmlSetStructuredErrorFunc(null_mut(), Some(silent)) };
}

/// Parses text that has passed our own checks.
fn parse(text: &str) -> Option<Document> {
    let options = ParserOptions {
        recover: false,
        no_net: true,
        no_def_dtd: true,
        no_error: true,
        no_warning: true,
        huge: false,
        ignore_enc: true,
        encoding: Some("UTF-8"),
        ..ParserOptions::default()
    };
    Parser::default().parse_string_with_options(text, options).ok()
}

/// Returns the element at a path from the root.
fn find(document: &Document, path: &[usize]) -> Option<Node> {
    path.iter()
        .try_fold(document.get_root_element()?, |node, at| node.get_child_elements().into_iter().nth(*at))
}

fn has_name(node: &Node, namespace: &str, name: &str) -> bool {
    node.get_name() == name && node.get_namespace().is_some_and(|known| known.get_href() == namespace)
}

/// Returns the digested bytes if the signature of this element is valid for this certificate's key.
pub(super) fn verify(
    text: &str,
    parent: &[usize],
    signature: &[usize],
    expected: &Expected,
    certificate: &Certificate,
) -> Option<Vec<u8>> {
    warm_up();
    let document = parse(text)?;
    let element = find(&document, parent)?;
    let sound = has_name(&element, &expected.namespace, &expected.name)
        && element.get_property_no_ns("ID").as_deref() == Some(expected.id.as_str());
    let node = find(&document, signature)?;
    if !sound || !has_name(&node, crate::xml::DS, "Signature") || node.get_parent().as_ref() != Some(&element)
    {
        return None;
    }
    register(&document, &element, &expected.id)?;
    let key = XmlSecKey::from_memory(certificate.der(), XmlSecKeyFormat::CertDer, None).ok()?;
    let mut context = XmlSecSignatureContext::new();
    restrict(&context, expected.algorithm, expected.digest)?;
    context.insert_key(key);
    if !context.verify_node(&node).ok()? {
        return None;
    }
    digested(&context, &expected.id)
}

/// Registers the attribute `ID` of this element as an XML ID, as a DTD would.
fn register(document: &Document, element: &Node, id: &str) -> Option<()> {
    let id = CString::new(id).ok()?;
    // SAFETY: both pointers are of live objects of one document, which outlives this function; the library copies the
    // value. For a second ID with the same value, `xmlAddID` returns null.
    unsafe {
        // `xmlHasNsProp` with a null namespace, because `xmlHasProp` ignores namespaces.
        let attribute = c::xmlHasNsProp(element.node_ptr().cast(), c"ID".as_ptr().cast(), null());
        if attribute.is_null() {
            return None;
        }
        let registered = c::xmlAddID(null_mut(), document.doc_ptr().cast(), id.as_ptr().cast(), attribute);
        (!registered.is_null()).then_some(())
    }
}

/// Restricts the library to the algorithms and transforms that were checked.
fn restrict(context: &XmlSecSignatureContext, algorithm: Algorithm, digest: Digest) -> Option<()> {
    // SAFETY: the context is alive; the classes are static data of the initialized library; the lists that they are
    // added to belong to the context.
    unsafe {
        let context = context.as_ptr();
        (*context).flags |=
            c::XMLSEC_DSIG_FLAGS_STORE_SIGNEDINFO_REFERENCES | c::XMLSEC_DSIG_FLAGS_IGNORE_MANIFESTS;
        (*context).enabledReferenceUris = c::xmlSecTransformUriTypeSameDocument;
        (*context).transformCtx.enabledUris = c::xmlSecTransformUriTypeNone;
        let exclusive = c::xmlSecTransformExclC14NGetKlass();
        let digest = match digest {
            Digest::Sha256 => c::xmlSecOpenSSLTransformSha256GetKlass(),
            Digest::Sha384 => c::xmlSecOpenSSLTransformSha384GetKlass(),
            Digest::Sha512 => c::xmlSecOpenSSLTransformSha512GetKlass(),
        };
        let method = match algorithm {
            Algorithm::Rsa(Digest::Sha256) => c::xmlSecOpenSSLTransformRsaSha256GetKlass(),
            Algorithm::Rsa(Digest::Sha384) => c::xmlSecOpenSSLTransformRsaSha384GetKlass(),
            Algorithm::Rsa(Digest::Sha512) => c::xmlSecOpenSSLTransformRsaSha512GetKlass(),
            Algorithm::Ecdsa(Digest::Sha256) => c::xmlSecOpenSSLTransformEcdsaSha256GetKlass(),
            Algorithm::Ecdsa(Digest::Sha384) => c::xmlSecOpenSSLTransformEcdsaSha384GetKlass(),
            Algorithm::Ecdsa(Digest::Sha512) => c::xmlSecOpenSSLTransformEcdsaSha512GetKlass(),
        };
        let done = [
            c::xmlSecDSigCtxEnableReferenceTransform(context, c::xmlSecTransformEnvelopedGetKlass()),
            c::xmlSecDSigCtxEnableReferenceTransform(context, exclusive),
            c::xmlSecDSigCtxEnableReferenceTransform(context, digest),
            c::xmlSecDSigCtxEnableSignatureTransform(context, exclusive),
            c::xmlSecDSigCtxEnableSignatureTransform(context, method),
        ];
        done.iter().all(|code| *code >= 0).then_some(())
    }
}

/// Copies the digested bytes of the only reference, which must have succeeded and refer to this ID.
fn digested(context: &XmlSecSignatureContext, id: &str) -> Option<Vec<u8>> {
    // SAFETY: the context is alive until this returns and owns the list, its item, and that item's URI and buffer.
    // All pointers are checked for null first, and the bytes are copied.
    unsafe {
        let references = &raw mut (*context.as_ptr()).signedInfoReferences;
        if c::xmlSecPtrListGetSize(references) != 1 {
            return None;
        }
        let reference = c::xmlSecPtrListGetItem(references, 0).cast::<c::xmlSecDSigReferenceCtx>();
        if reference.is_null()
            || (*reference).status != c::xmlSecDSigStatus_xmlSecDSigStatusSucceeded
            || (*reference).uri.is_null()
            || CStr::from_ptr((*reference).uri.cast()).to_bytes().strip_prefix(b"#") != Some(id.as_bytes())
        {
            return None;
        }
        let buffer = c::xmlSecDSigReferenceCtxGetPreDigestBuffer(reference);
        if buffer.is_null() {
            return None;
        }
        let (data, size) = (c::xmlSecBufferGetData(buffer), c::xmlSecBufferGetSize(buffer));
        if data.is_null() {
            return None;
        }
        Some(std::slice::from_raw_parts(data.cast_const(), usize::try_from(size).ok()?).to_vec())
    }
}

/// Signs a document of our own. The `Signature` element at the path `signature` is filled in; it signs its parent.
pub(crate) fn sign(text: &str, signature: &[usize], id: &str, key: &KeyPair) -> Result<String, KeyError> {
    let failed = || KeyError("used to sign");
    warm_up();
    let document = parse(text).ok_or_else(failed)?;
    let node = find(&document, signature).ok_or_else(failed)?;
    let element = node.get_parent().ok_or_else(failed)?;
    register(&document, &element, id).ok_or_else(failed)?;
    let private =
        XmlSecKey::from_memory(key.private.expose(), XmlSecKeyFormat::Der, None).map_err(|_| failed())?;
    let mut context = XmlSecSignatureContext::new();
    restrict(&context, Algorithm::Rsa(Digest::Sha256), Digest::Sha256).ok_or_else(failed)?;
    context.insert_key(private);
    context.sign_node(&node).map_err(|_| failed())?;
    Ok(document.node_to_string(&document.get_root_element().ok_or_else(failed)?))
}
