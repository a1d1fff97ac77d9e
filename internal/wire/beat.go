package wire

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Beat is the document of a full beat. The server takes the target of a beat
// from the request; ServiceName is only informative (server case SB-06).
type Beat struct {
	// IP and Port are the instance's.
	IP   string
	Port int
	// Cluster is blank when the document leaves it to the request.
	Cluster string
	// ServiceName is the grouped name as the client knows it.
	ServiceName string
	// Weight is 0 when the document has none.
	Weight float64
	// Metadata is what the instance is re-created with.
	Metadata map[string]string
	// Ephemeral is true unless the document says otherwise.
	Ephemeral bool
	// Scheduled, Period (milliseconds) and Stopped are the client's own state;
	// servers ignore them.
	Scheduled bool
	Period    int64
	Stopped   bool
}

// beatDocument is Beat as it is decoded.
type beatDocument struct {
	IP          string                `json:"ip"`
	Port        flexInt               `json:"port"`
	Cluster     string                `json:"cluster"`
	ServiceName unimportant[string]   `json:"serviceName"`
	Weight      flexFloat             `json:"weight"`
	Metadata    flexMap               `json:"metadata"`
	Ephemeral   flexBool              `json:"ephemeral"`
	Scheduled   unimportant[flexBool] `json:"scheduled"`
	Period      unimportant[flexInt]  `json:"period"`
	Stopped     unimportant[flexBool] `json:"stopped"`
}

// ParseBeat reads the parameter beat. Unknown members are ignored, and so is
// whatever stands in those that servers ignore; numbers and booleans may be
// strings, as SDKs of untyped languages send them. Malformed JSON and a port out
// of range are a [BadRequest]. The address is not checked here.
func ParseBeat(text string) (*Beat, error) {
	d := beatDocument{Ephemeral: true}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return nil, BadRequestf("beat format incorrect: %s", ExplainJSON(err))
	}
	if err := CheckPort(int(d.Port)); err != nil {
		return nil, err
	}
	b := &Beat{
		IP: strings.TrimSpace(d.IP), Port: int(d.Port), Cluster: strings.TrimSpace(d.Cluster),
		ServiceName: d.ServiceName.value, Weight: float64(d.Weight), Metadata: d.Metadata, Ephemeral: bool(d.Ephemeral),
		Scheduled: bool(d.Scheduled.value), Period: int64(d.Period.value), Stopped: bool(d.Stopped.value),
	}
	if b.Metadata == nil {
		b.Metadata = map[string]string{}
	}
	return b, nil
}

// MarshalJSON implements json.Marshaler: the document a client sends.
func (b Beat) MarshalJSON() ([]byte, error) {
	dst := make([]byte, 0, 256)
	dst = appendString(append(dst, `{"ip":`...), b.IP)
	dst = strconv.AppendInt(append(dst, `,"port":`...), int64(b.Port), 10)
	dst = appendFloat(append(dst, `,"weight":`...), b.Weight)
	dst = appendString(append(dst, `,"serviceName":`...), b.ServiceName)
	dst = appendString(append(dst, `,"cluster":`...), b.Cluster)
	dst = appendStringMap(append(dst, `,"metadata":`...), b.Metadata)
	dst = strconv.AppendBool(append(dst, `,"scheduled":`...), b.Scheduled)
	dst = strconv.AppendInt(append(dst, `,"period":`...), b.Period, 10)
	dst = strconv.AppendBool(append(dst, `,"stopped":`...), b.Stopped)
	dst = strconv.AppendBool(append(dst, `,"ephemeral":`...), b.Ephemeral)
	return append(dst, '}'), nil
}

// Codes of a beat reply.
const (
	// CodeOK says that the instance is known.
	CodeOK = 10200
	// CodeResourceNotFound says that it is not: the client registers again.
	CodeResourceNotFound = 20404
)

// BeatReply is the answer to a beat.
type BeatReply struct {
	// ClientBeatInterval is the interval the client is to use from now on, in
	// milliseconds. It must always be there: without it the loop of Java 1.4.1
	// clients dies.
	ClientBeatInterval int64 `json:"clientBeatInterval"`
	// Code is CodeOK or CodeResourceNotFound.
	Code int `json:"code"`
	// LightBeatEnabled allows beats without the document; nil, which is false to
	// a client, with CodeResourceNotFound.
	LightBeatEnabled *bool `json:"lightBeatEnabled,omitempty"`
}

// LightBeat says whether the server takes beats without a document.
func (r BeatReply) LightBeat() bool { return r.LightBeatEnabled != nil && *r.LightBeatEnabled }

// AppendKnownReply appends the reply to a beat of a known instance.
func AppendKnownReply(dst []byte, intervalMillis int64, lightBeat bool) []byte {
	dst = strconv.AppendInt(append(dst, `{"clientBeatInterval":`...), intervalMillis, 10)
	dst = append(dst, `,"code":10200,"lightBeatEnabled":`...)
	return append(strconv.AppendBool(dst, lightBeat), '}')
}

// AppendUnknownReply appends the reply to a beat of an instance that the server
// does not know and did not create.
func AppendUnknownReply(dst []byte, intervalMillis int64) []byte {
	dst = strconv.AppendInt(append(dst, `{"clientBeatInterval":`...), intervalMillis, 10)
	return append(dst, `,"code":20404}`...)
}
