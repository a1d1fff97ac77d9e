package wire

import "encoding/json"

// Target is one instance that a batch names.
type Target struct {
	// IP is in the form of [ParseIP].
	IP      string
	Port    int
	Cluster string
	// Ephemeral is true unless the document says otherwise.
	Ephemeral bool
}

// ParseTargets reads the parameter instances of a batch with the leniency of a
// beat's document. What no instance can have is left out, as is what none has
// (Nacos HTTP v1: metadata batch); text that is no list of objects names nothing.
func ParseTargets(text string) []Target {
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil
	}
	targets := make([]Target, 0, len(list))
	for _, document := range list {
		if t, err := parseTarget(document); err == nil {
			targets = append(targets, t)
		}
	}
	return targets
}

func parseTarget(document []byte) (t Target, err error) {
	d := struct {
		IP        string   `json:"ip"`
		Port      flexInt  `json:"port"`
		Cluster   string   `json:"clusterName"`
		Ephemeral flexBool `json:"ephemeral"`
	}{Ephemeral: true}
	if err := json.Unmarshal(document, &d); err != nil {
		return t, err
	}
	if t.IP, err = ParseIP(d.IP); err != nil {
		return t, err
	}
	if t.Cluster, err = ParseCluster(d.Cluster); err != nil {
		return t, err
	}
	t.Port, t.Ephemeral = int(d.Port), bool(d.Ephemeral)
	return t, CheckPort(t.Port)
}
