package api

import (
	"cmp"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// Node says who this server is among servers.
type Node struct {
	// IP is the address others reach it at, or its host name.
	IP string
	// Port is that of the HTTP API.
	Port int
}

// String is the address with its port.
func (n Node) String() string { return net.JoinHostPort(n.IP, strconv.Itoa(n.Port)) }

// raftPortOffset is how far below the HTTP port Nacos' raft is; clients and
// consoles read it, nobody listens there.
const raftPortOffset = 1000

const stateDown = "DOWN"

// member is a server in Nacos' form.
type member struct {
	IP            string            `json:"ip"`
	Port          int               `json:"port"`
	State         string            `json:"state"`
	ExtendInfo    map[string]string `json:"extendInfo"`
	Address       string            `json:"address"`
	FailAccessCnt int               `json:"failAccessCnt"`
}

func (a *API) member() member {
	node := a.node()
	return member{
		IP: node.IP, Port: node.Port, State: a.memberState(),
		ExtendInfo: map[string]string{"raftPort": strconv.Itoa(node.Port - raftPortOffset), "version": ProtocolVersion},
		Address:    node.String(),
	}
}

// memberState is UP exactly while the server is ready.
func (a *API) memberState() string {
	if len(a.Unready()) > 0 {
		return stateDown
	}
	return statusUp
}

func (a *API) operatorServers(c *call) (answer, error) {
	healthy, err := c.SpringBool("healthy")
	if err != nil {
		return answer{}, err
	}
	servers := []member{}
	if m := a.member(); !healthy || m.State == statusUp {
		servers = append(servers, m)
	}
	return jsonOf(struct {
		Servers []member `json:"servers"`
	}{servers})
}

// responsibleServer says who answers for a service: one node does for all.
func (a *API) responsibleServer(c *call) (answer, error) {
	k, err := c.boundServiceKey()
	if err != nil {
		return answer{}, err
	}
	if _, found := a.store.Lookup(k); !found {
		return answer{}, wire.BadRequest("service not found")
	}
	return jsonOf(struct {
		ResponsibleServer string `json:"responsibleServer"`
	}{a.node().String()})
}

func (a *API) distroStatus(c *call) (answer, error) {
	if cmp.Or(c.Get("action"), "view") != "view" {
		return jsonBytes([]byte("{}")), nil
	}
	return jsonOf(struct {
		Status []member `json:"status"`
	}{[]member{a.member()}})
}

// clusterState is this server as a peer of the raft that Nacos had before 1.4.0:
// a node that follows nobody.
func (a *API) clusterState(*call) (answer, error) {
	return jsonOf(struct {
		IP             string `json:"ip"`
		Term           int    `json:"term"`
		LeaderDueMs    int    `json:"leaderDueMs"`
		HeartbeatDueMs int    `json:"heartbeatDueMs"`
		State          string `json:"state"`
	}{a.node().String(), 0, 0, 0, "FOLLOWER"})
}

// envelope is what the core and console answer in.
type envelope struct {
	Code    int     `json:"code"`
	Message *string `json:"message"`
	Data    any     `json:"data"`
}

func enveloped(data any) (answer, error) { return jsonOf(envelope{http.StatusOK, nil, data}) }

func (a *API) clusterNodes(c *call) (answer, error) {
	members := []member{}
	if m := a.member(); strings.HasPrefix(m.Address, c.Get("keyword")) {
		members = append(members, m)
	}
	return enveloped(members)
}

func (a *API) clusterSelf(*call) (answer, error) { return enveloped(a.member()) }

func (a *API) clusterAddresses(*call) (answer, error) {
	addresses := []string{}
	if m := a.member(); m.State == statusUp {
		addresses = append(addresses, m.Address)
	}
	return enveloped(addresses)
}

func (a *API) clusterHealth(*call) (answer, error) { return enveloped(a.memberState()) }

// clusterReport says whether the reporting server is a member; the only one is
// this server itself.
func (a *API) clusterReport(c *call) (answer, error) {
	var reported struct {
		IP      string `json:"ip"`
		Port    int    `json:"port"`
		Address string `json:"address"`
	}
	if err := c.document(&reported); err != nil {
		return answer{}, err
	}
	if reported.IP == "" || reported.Port < 1 {
		message := "Node information is illegal"
		return jsonOf(envelope{http.StatusBadRequest, &message, nil})
	}
	self := a.node()
	return enveloped(strconv.FormatBool(reported.IP == self.IP && reported.Port == self.Port))
}

func (a *API) clusterLookup(*call) (answer, error) {
	message := "this server is alone and looks up no members"
	return jsonOf(envelope{http.StatusInternalServerError, &message, nil})
}

// clusterLeave hears which servers leave. Others are not known here, so nothing
// is to be done about them; this one stays.
func (a *API) clusterLeave(c *call) (answer, error) {
	var addresses []string
	if err := c.document(&addresses); err != nil {
		return answer{}, err
	}
	self := a.node().String()
	for _, address := range addresses {
		if address == self {
			return answer{}, wire.BadRequest("this server is the only member and cannot leave")
		}
	}
	return enveloped("ok")
}

// idInfo shows the generators of numbers for ids, of which there are none.
func (a *API) idInfo(*call) (answer, error) { return enveloped(map[string]any{}) }
