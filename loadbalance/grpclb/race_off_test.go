//go:build !race

package grpclb

const raceEnabled = false
