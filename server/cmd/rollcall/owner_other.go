//go:build !linux

package main

// giveBack does nothing: there the owner of the directory runs the commands.
func giveBack(string) error { return nil }
