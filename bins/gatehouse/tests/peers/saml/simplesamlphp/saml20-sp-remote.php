<?php

require __DIR__ . '/settings.php';

// Gatehouse's metadata, with the settings that an administrator of SimpleSAMLphp would add.
$service = $folder . '/service.xml';
if (is_file($service)) {
    $entities = SimpleSAML\Metadata\SAMLParser::parseDescriptorsString(file_get_contents($service));
    foreach ($entities as $id => $entity) {
        $metadata[$id] = array_replace($entity->getMetadata20SP(), $settings['service']);
    }
}
