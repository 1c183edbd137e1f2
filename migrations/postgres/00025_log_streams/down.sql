DROP TABLE log_stream_states;
DROP TABLE log_streams;
