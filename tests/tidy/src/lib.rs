//! Nothing: the rules about the tree are tests, see `tests/`.
