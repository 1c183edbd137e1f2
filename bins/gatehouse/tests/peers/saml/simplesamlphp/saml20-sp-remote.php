<?php

require __DIR__ . '/told.php';

// Our metadata, as SimpleSAMLphp reads that of others, and what an administrator would add by hand.
$service = $folder . '/service.xml';
if (is_file($service)) {
    $entities = SimpleSAML\Metadata\SAMLParser::parseDescriptorsString(file_get_contents($service));
    foreach ($entities as $id => $entity) {
        $metadata[$id] = array_replace($entity->getMetadata20SP(), $told['service']);
    }
}
