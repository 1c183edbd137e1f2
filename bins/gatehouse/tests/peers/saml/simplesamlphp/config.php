<?php

// SimpleSAMLphp as an identity provider on a loopback address. What changes from login to login comes from a file of
// the check's; PHP reads all of it again for every request.
require_once __DIR__ . '/told.php';

$config = [
    'baseurlpath' => 'http://127.0.0.1:' . $_SERVER['SERVER_PORT'] . '/',
    'certdir' => $folder . '/',
    'loggingdir' => $folder . '/',
    'datadir' => $folder . '/',
    'tempdir' => $folder . '/temp',
    'metadatadir' => __DIR__ . '/',
    'metadata.sources' => [['type' => 'flatfile']],
    'enable.saml20-idp' => true,
    'module.enable' => ['core' => true, 'exampleauth' => true, 'saml' => true],
    'secretsalt' => 'a salt that everybody knows',
    'auth.adminpassword' => bin2hex(random_bytes(16)),
    'admin.checkforupdates' => false,
    'timezone' => 'UTC',
    'production' => true,
    'showerrors' => true,
    'errorreporting' => false,
    'logging.handler' => 'file',
    'logging.level' => SimpleSAML\Logger::INFO,
    'logging.logfile' => 'simplesamlphp.log',
    'store.type' => 'phpsession',
    'session.phpsession.savepath' => $folder . '/sessions',
    'session.cookie.secure' => false,
    'session.cookie.samesite' => null,
    'language.cookie.secure' => false,
    'language.cookie.samesite' => null,
    'language.available' => ['en'],
    'language.default' => 'en',
    'authproc.idp' => $told['filters'] ?? [],
];

// To a certificate it encrypts with AES-128-CBC, which is refused here, and no setting changes that (versions 1.19 to
// 2.5). It has AES-GCM for keys that are shared; a copy of one class with one word changed has it for certificates.
if (isset($told['cipher'])) {
    require_once $folder . '/EncryptedAssertion.php';
}
