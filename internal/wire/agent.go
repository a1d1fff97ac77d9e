package wire

import (
	"slices"
	"strings"
)

// ClientAgent is what our client calls itself: Nacos never pushes to agents it
// does not know.
const ClientAgent = "Nacos-Go-Client:v1.1.6"

// AgentKind is the SDK that a request says it comes from.
type AgentKind int

// The kinds that the protocol treats differently.
const (
	AgentOther AgentKind = iota
	AgentJava
	AgentGo
	AgentCSharp
	AgentC
	AgentDNS
	AgentPython
)

// Agent is the client as its header names it (Nacos HTTP v1: agent detection).
// It decides which names a list carries and whether the client can be pushed to,
// and it gives no trust (server case SB-17).
type Agent struct {
	Kind    AgentKind
	Version [3]int
}

// ParseAgent reads the headers User-Agent and, only when that is empty,
// Client-Version. A version that cannot be read is 0.0.0.
func ParseAgent(userAgent, clientVersion string) Agent {
	if userAgent == "" {
		userAgent = clientVersion
	}
	for _, known := range [...]struct {
		prefix string
		kind   AgentKind
	}{
		{"Nacos-Java-Client", AgentJava},
		{"Nacos-Go-Client", AgentGo},
		{"Nacos-CSharp-Client", AgentCSharp},
		{"Nacos-C-Client", AgentC},
		{"vip-client4cpp", AgentC},
		{"Nacos-DNS", AgentDNS},
		{"Nacos-Python-Client", AgentPython},
	} {
		if strings.HasPrefix(userAgent, known.prefix) {
			_, version, _ := strings.Cut(userAgent, ":v")
			return Agent{Kind: known.kind, Version: agentVersion(version)}
		}
	}
	return Agent{}
}

// agentVersion takes the leading digits of up to three parts; fewer than two
// parts are no version.
func agentVersion(text string) (v [3]int) {
	parts := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("-_./;:", r) })
	if len(parts) < 2 {
		return v
	}
	for i, part := range parts[:min(len(parts), len(v))] {
		v[i] = leadingInt(part)
	}
	return v
}

func leadingInt(s string) (n int) {
	for i := 0; i < len(s) && '0' <= s[i] && s[i] <= '9' && n < 1e6; i++ {
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// ParseVersion reads a version n.n.n, as the switch pushVersion wants it.
func ParseVersion(text string) (v [3]int, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != len(v) {
		return v, false
	}
	for i, part := range parts {
		if part == "" || strings.Trim(part, "0123456789") != "" {
			return [3]int{}, false
		}
		v[i] = leadingInt(part)
	}
	return v, true
}

// AtLeast says whether the agent's version is v or later.
func (a Agent) AtLeast(v [3]int) bool { return slices.Compare(a.Version[:], v[:]) >= 0 }

// GroupedNames says whether dom and a host's serviceName carry the group for
// this client: Java from 1.0.0 on, which is also what Node calls itself.
func (a Agent) GroupedNames() bool {
	return a.Kind == AgentJava && a.AtLeast([3]int{1, 0, 0})
}

// UpdatesItself says whether an update from this client is about the instance
// that it registered itself. Java clients have a service of their own for
// operators, and consoles and tools name no SDK; the other SDKs know updating
// only as registering anew.
func (a Agent) UpdatesItself() bool {
	switch a.Kind {
	case AgentGo, AgentPython, AgentCSharp, AgentC:
		return true
	default:
		return false
	}
}
