// Package testutil holds what tests of several packages need: listeners that
// live in memory, so that HTTP runs inside a testing/synctest bubble where a
// real socket would hang, and [FakeNacos], a scriptable registry server.
//
// It is imported by tests only.
package testutil
