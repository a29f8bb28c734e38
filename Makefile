# `make` alone tells what there is.
.DEFAULT_GOAL := help

TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)

.PHONY: help
help: ## Tell what there is
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: tools ## Build dist/locum and dist/plugins (release)
	cargo build --release --locked -p locum -p policies
	mkdir -p dist
	install -m 755 $(TARGET_DIR)/release/locum dist/locum
	$(TARGET_DIR)/release/policies --out dist/plugins

.PHONY: demo
demo: build ## Watch it work: a stub master, four policies, one swapped under your eyes; ends by itself
	dist/locum demo

.PHONY: test
test: tools ## Run all tests (real brokers too, where Java and Maven are)
	cargo test --workspace --locked

.PHONY: lint
lint: tools ## Run the lints: fmt, clippy, docs, licences and bans
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --locked
	command -v cargo-deny >/dev/null || cargo install --locked cargo-deny@$(CARGO_DENY)
	cargo deny --locked check bans licenses sources

.PHONY: bench
bench: build ## Measure how long two policies that never stop hold up everything else
	cargo run --release --locked -p bench --bin yielding

.PHONY: swaps
swaps: build ## Swap a policy 1,000 times while it ticks (some minutes), and measure how long a swap takes
	cargo run --release --locked -p bench --bin swaps

.PHONY: clean
clean: ## Remove what was built
	cargo clean
	rm -rf dist

# The version that `make lint` installs where there is none.
CARGO_DENY := 0.20.2

# Policies are built for this target; rustup knows the toolchain from rust-toolchain.toml.
.PHONY: tools
tools:
	@rustc --version >/dev/null 2>&1 || rustup toolchain install 1.95.0 --profile minimal --component rustfmt,clippy
	@rustc --print target-libdir --target wasm32-unknown-unknown | xargs test -d || rustup target add wasm32-unknown-unknown
