<?php

// SimpleSAMLphp as an identity provider on a loopback address. PHP reads this file again for every request, so the
// check can change settings.json between logins.
require_once __DIR__ . '/settings.php';

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
    'authproc.idp' => $settings['filters'] ?? [],
];

// SimpleSAMLphp 1.19 to 2.5 encrypts with AES-128-CBC for a certificate, and no setting changes that. Gatehouse refuses
// AES-CBC, so this loads a copy of one class with the algorithm replaced.
if (isset($settings['cipher'])) {
    require_once $folder . '/EncryptedAssertion.php';
}
