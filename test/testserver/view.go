package testserver

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/test/internal/metrics"
)

// callTimeout bounds one request, so that a poll notices a server that hangs and
// not one that has to wait for a processor.
const callTimeout = 20 * time.Second

// Host is an instance as the list shows it, reduced to what the tests look at.
type Host struct {
	InstanceID  string            `json:"instanceId"`
	IP          string            `json:"ip"`
	Port        int               `json:"port"`
	ClusterName string            `json:"clusterName"`
	Weight      float64           `json:"weight"`
	Healthy     bool              `json:"healthy"`
	Enabled     bool              `json:"enabled"`
	Ephemeral   bool              `json:"ephemeral"`
	Metadata    map[string]string `json:"metadata"`
}

// Ready returns nil when the server says that it is up.
func (s *Server) Ready() error {
	_, err := s.Call(http.MethodGet, "/v1/console/health/readiness", nil)
	return err
}

// Hosts lists a service of the public namespace, "name" or "GROUP@@name", over
// HTTP, as an onlooker who asks for no push.
func (s *Server) Hosts(service string) ([]Host, error) {
	body, err := s.Call(http.MethodGet, "/v1/ns/instance/list", url.Values{"serviceName": {service}})
	if err != nil {
		return nil, err
	}
	return ParseList(body)
}

// ParseList reads the hosts out of the answer to a question for a service's list.
func ParseList(body string) ([]Host, error) {
	var list struct {
		Hosts []Host `json:"hosts"`
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		return nil, fmt.Errorf("decode the list %s: %w", body, err)
	}
	return list.Hosts, nil
}

// Call sends one request with the parameters in its query and returns the body
// of the answer. Any status but 200 is an error.
func (s *Server) Call(method, path string, params url.Values) (string, error) {
	if s.token != "" {
		params = maps.Clone(params)
		if params == nil {
			params = url.Values{}
		}
		params.Set("accessToken", s.token)
	}
	return Call(s.Addr(), method, path, params)
}

// Call is [Server.Call] for a registry of whatever kind at an address of the form
// host:port.
func Call(address, method, path string, params url.Values) (string, error) {
	request, err := http.NewRequest(method, "http://"+address+"/nacos"+path+"?"+params.Encode(), nil)
	if err != nil {
		return "", err
	}
	client := http.Client{Timeout: callTimeout}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", fmt.Errorf("read the answer to %s %s: %w", method, path, err)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s %s: status %d: %s", method, path, response.StatusCode, body)
	}
	return string(body), nil
}

// MetricsOn is the setting with which a server shows its metrics.
const MetricsOn = "MANAGEMENT_ENDPOINTS_EXPOSURE=health,prometheus"

// Metrics returns what a server with [MetricsOn] tells Prometheus; see
// [metrics.Fetch].
func (s *Server) Metrics() (map[string]float64, error) {
	return metrics.Fetch(&http.Client{Timeout: callTimeout}, "http://"+s.Addr()+"/nacos/actuator/prometheus")
}

// Switch changes one of the server's switches, such as pushEnabled.
func (s *Server) Switch(t testing.TB, entry, value string) {
	t.Helper()
	if _, err := s.Call(http.MethodPut, "/v1/ns/operator/switches", url.Values{"entry": {entry}, "value": {value}}); err != nil {
		t.Fatalf("switch %s to %s: %v", entry, value, err)
	}
}
