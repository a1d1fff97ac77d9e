// Package config reads the configuration of an application before there is a
// graph: one YAML document, the environment and values from code, decoded into
// typed blocks, with every mistake reported at once.
//
// Here belong the reading rules: relaxed names, placeholders, durations, lists,
// case-exact maps, unknown keys. Here does not belong what a key means: that is
// the business of the blocks.
package config
