// Package testutil holds what tests of several packages need: listeners that
// live in memory, so that HTTP runs inside a testing/synctest bubble where a
// real socket would hang, [FakeNacos], a scriptable registry server, and [Output],
// which collects what a process prints.
//
// It is imported by tests only.
package testutil
