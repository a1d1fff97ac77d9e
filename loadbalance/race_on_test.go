//go:build race

package loadbalance_test

const raceEnabled = true
