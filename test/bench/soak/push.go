package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
)

// pushNumber reads the number of a pushed datagram, compressed or not.
func pushNumber(packet []byte) (int64, error) {
	if bytes.HasPrefix(packet, []byte{0x1f, 0x8b}) {
		r, err := gzip.NewReader(bytes.NewReader(packet))
		if err != nil {
			return 0, err
		}
		if packet, err = io.ReadAll(r); err != nil {
			return 0, err
		}
	}
	var push struct {
		LastRefTime int64 `json:"lastRefTime"`
	}
	err := json.Unmarshal(packet, &push)
	return push.LastRefTime, err
}
