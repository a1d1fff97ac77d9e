// Package rnacos has no code besides its tests: our client, through its public
// packages, against r-nacos, a Nacos server that nobody here wrote. The contract
// suites are those that our own server's client passes.
//
// r-nacos is built once by tools/install-rnacos.sh; without it the tests are
// skipped. docs/peers.md is what they prove.
package rnacos
