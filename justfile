# Shortcuts. `just` lists them.

default:
    @just --list

# Build, create sample data, serve on http://localhost:8080
up:
    cargo xtask up

# Run everything that CI checks, on SQLite and PostgreSQL
test:
    cargo xtask test

# Run a temporary PostgreSQL until Ctrl-C; prints the variables that `cargo test` needs
db:
    cargo xtask db

# Check one crate with clippy
check crate:
    cargo clippy --package {{crate}} --all-targets

# Measure the request path and its floors
bench *rows:
    cargo xtask bench path {{rows}}

# Run fault tests: kills, slow networks, full disks
chaos *name:
    cargo xtask chaos {{name}}

# Test the pages in Chromium; screenshots in target/browser
browser:
    cargo build --package gatehouse && cargo xtask browser

# Write the API description after a change that clients can see
openapi:
    cargo run --quiet -- openapi > docs/openapi.json

# Check that attempts to bypass access checks do not compile
compile-fail:
    cargo test --package gate --test compile_fail
