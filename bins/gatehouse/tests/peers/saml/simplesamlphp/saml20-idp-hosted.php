<?php

require __DIR__ . '/settings.php';

// SimpleSAMLphp publishes the keys that start with `new_` in its metadata, and does not sign with them yet.
$metadata['__DYNAMIC:1__'] = [
    'host' => '__DEFAULT__',
    'auth' => 'people',
    'SingleSignOnServiceBinding' => [SAML2\Constants::BINDING_HTTP_POST, SAML2\Constants::BINDING_HTTP_REDIRECT],
] + $settings['keys'];
