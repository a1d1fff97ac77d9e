package loadbalance

import (
	"strings"

	"github.com/rollcall-go/rollcall/registry"
)

// MetadataZone is the metadata key that says which zone an instance is in.
const MetadataZone = "zone"

// minHealthyShare is the share of a zone's instances that must be usable for the
// zone to be preferred.
const minHealthyShare = 0.2

// ZoneOf returns the zone of an instance: what its metadata says, else its
// cluster (client rule D-R13).
func ZoneOf(i *registry.Instance) string {
	if zone := i.Metadata[MetadataZone]; zone != "" {
		return zone
	}
	return i.Cluster
}

// zoneStage keeps the caller's own zone while that can carry the traffic: at
// least min instances and a fifth of those it has; else all (client rule D-R13).
func zoneStage(own string, min int) Stage {
	return Stage{name: StageZone, rank: rankPreferred, list: func(_ *builder, s stock) []Candidate {
		if own == "" {
			return s.candidates
		}
		near := keep(s.candidates, func(c *Candidate) bool { return strings.EqualFold(ZoneOf(c.Instance), own) })
		there := 0
		for _, i := range s.known {
			if strings.EqualFold(ZoneOf(i), own) {
				there++
			}
		}
		if len(near) == 0 || len(near) < min || float64(len(near)) < minHealthyShare*float64(there) {
			return s.candidates
		}
		return near
	}}
}

func clusterStage(own string) Stage {
	s := FilterStage(StageSameCluster, PreferCluster(own), false)
	if own == "" {
		s.list = func(_ *builder, s stock) []Candidate { return s.candidates }
	}
	return s
}
