DROP TABLE signal_keys;
DROP TABLE signal_removed_subjects;
DROP TABLE signal_events;
DROP TABLE signal_routes;
DROP TABLE signal_stream_states;
DROP TABLE signal_streams;
DROP TABLE signal_receivers;
