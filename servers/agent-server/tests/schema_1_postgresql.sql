-- The tables as version 1 made them.
CREATE TABLE agent_run_events (run BIGINT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, body BYTEA NOT NULL, PRIMARY KEY (run, first));
CREATE TABLE agent_run_labels (run BIGINT NOT NULL, label BYTEA NOT NULL, PRIMARY KEY (run, label));
CREATE INDEX agent_run_labels_label ON agent_run_labels (label, run);
CREATE TABLE agent_run_steps (run BIGINT NOT NULL, key TEXT NOT NULL, result BYTEA NOT NULL, PRIMARY KEY (run, key));
CREATE TABLE agent_runs (seq BIGSERIAL NOT NULL, run_id TEXT NOT NULL, executor TEXT NOT NULL, version TEXT NOT NULL, tenant TEXT NOT NULL, agent TEXT NOT NULL, status TEXT NOT NULL, attempt INTEGER NOT NULL, server TEXT, created_at BIGINT NOT NULL, started_at BIGINT, finished_at BIGINT, cancel_requested BOOLEAN NOT NULL, cancel_reason BYTEA, metadata BYTEA NOT NULL, idempotency BYTEA, fingerprint TEXT NOT NULL, request BYTEA, result BYTEA, last_event INTEGER NOT NULL, bytes BIGINT NOT NULL, PRIMARY KEY (seq), UNIQUE (executor, tenant, idempotency), UNIQUE (run_id));
CREATE INDEX agent_runs_active ON agent_runs (executor, tenant) WHERE finished_at IS NULL;
CREATE INDEX agent_runs_finished ON agent_runs (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX agent_runs_page ON agent_runs (executor, tenant, seq);
CREATE INDEX agent_runs_queue ON agent_runs (status, executor, seq) WHERE finished_at IS NULL;
CREATE TABLE agent_server_schema (version INTEGER NOT NULL);
CREATE TABLE agent_server_seals (key_id TEXT NOT NULL, probe BYTEA NOT NULL, PRIMARY KEY (key_id));
CREATE TABLE agent_servers (name TEXT NOT NULL, token TEXT NOT NULL, executor TEXT NOT NULL, version TEXT NOT NULL, key_id TEXT NOT NULL, beat BIGINT NOT NULL, PRIMARY KEY (name));
INSERT INTO agent_server_schema (version) VALUES (1);
