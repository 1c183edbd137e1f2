<?php

// The settings of the current login, which simplesamlphp.mjs writes: users, keys, signatures and encryption.
$folder = getenv('IDP_FOLDER');
$settings = json_decode(file_get_contents($folder . '/settings.json'), true, 16, JSON_THROW_ON_ERROR);
