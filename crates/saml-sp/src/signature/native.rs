//! libxmlsec1: the only place of this crate with unsafe code.
//!
//! Nothing here decides what is acceptable. The structure was checked before; this names the element by its way from
//! the root, hands out no answer but the bytes that were digested, and leaves the C libraries no choice: no network, no
//! recovery, no entity, one ID, references into the same document, two transforms, one digest, one method.
#![expect(unsafe_code, reason = "libxmlsec1 is C; each block says why it holds")]

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
    /// `xmlsec/errors.h`, which the bindings leave out.
    fn xmlSecErrorsDefaultCallbackEnableOutput(enabled: c_int);
}

/// Says nothing: what the libraries have to say about hostile input belongs into no log.
unsafe extern "C" fn silent(_: *mut c_void, _: *mut c::xmlError) {}

/// Starts the C libraries, once for the process: what they read of files they read then, and nothing later. A host calls it
/// at its start; without that the first use does it.
pub fn warm_up() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        // SAFETY: takes no argument, and `Once` lets one thread alone be here before any other use.
        unsafe { c::xmlInitParser() };
        drop(XmlSecSignatureContext::new());
        // SAFETY: sets one integer of the library's.
        unsafe { xmlSecErrorsDefaultCallbackEnableOutput(0) };
    });
    // SAFETY: sets the handler of this thread; `silent` is there for ever and looks at nothing.
    unsafe { c::xmlSetStructuredErrorFunc(null_mut(), Some(silent)) };
}

/// A document of text that was checked.
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

/// The element at the end of a way from the root.
fn find(document: &Document, path: &[usize]) -> Option<Node> {
    path.iter()
        .try_fold(document.get_root_element()?, |node, at| node.get_child_elements().into_iter().nth(*at))
}

fn has_name(node: &Node, namespace: &str, name: &str) -> bool {
    node.get_name() == name && node.get_namespace().is_some_and(|known| known.get_href() == namespace)
}

/// The bytes that were digested, if this certificate's key has made the signature of this element.
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

/// Makes the attribute `ID` of this one element an ID, as a DTD would have.
fn register(document: &Document, element: &Node, id: &str) -> Option<()> {
    let id = CString::new(id).ok()?;
    // SAFETY: both pointers are of live objects of one document, which outlives this function; the library copies the
    // value. A second ID of the same value would be refused with null.
    unsafe {
        // Without namespace: the other function would take the first of this name, whatever its namespace.
        let attribute = c::xmlHasNsProp(element.node_ptr().cast(), c"ID".as_ptr().cast(), null());
        if attribute.is_null() {
            return None;
        }
        let registered = c::xmlAddID(null_mut(), document.doc_ptr().cast(), id.as_ptr().cast(), attribute);
        (!registered.is_null()).then_some(())
    }
}

/// Leaves the library no other way than the one that was checked.
fn restrict(context: &XmlSecSignatureContext, algorithm: Algorithm, digest: Digest) -> Option<()> {
    // SAFETY: the context is alive; the classes are static data of the library, which was started; the lists that they are
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

/// A copy of what was digested for the one reference, which succeeded and is to this ID.
fn digested(context: &XmlSecSignatureContext, id: &str) -> Option<Vec<u8>> {
    // SAFETY: the context is alive until this returns, and what hangs on it is its own: the list, its one item, that item's
    // URI and buffer. All are looked at for null first, and the bytes are copied.
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

/// Fills in the signature of a document of our own: the `Signature` is the element at `signature`, the element that it
/// signs its parent.
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
