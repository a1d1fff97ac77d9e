package testutil

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// FakeNacos is an [http.Handler] that answers like a Nacos 1.4 naming server,
// below any context path: register, update, deregister, beat, list, the list of
// services, metrics and login. It logs the requests it gets and misbehaves on
// demand ([FakeNacos.SetFault]). It is deliberately independent of the code it
// tests. Safe for concurrent use.
//
// Instances expire as on the real server, 15 s and 30 s after their last beat,
// measured when somebody looks.
type FakeNacos struct {
	mu         sync.Mutex
	instances  map[fakeKey]*FakeInstance
	log        []Request
	fault      func(Request) *Fault
	lightBeats bool
	beatMillis int64
	cacheFor   time.Duration
	login      *fakeLogin
}

// FakeInstance is one instance as the fake server stores and lists it.
type FakeInstance struct {
	ID        string            `json:"instanceId"`
	IP        string            `json:"ip"`
	Port      int               `json:"port"`
	Weight    float64           `json:"weight"`
	Healthy   bool              `json:"healthy"`
	Enabled   bool              `json:"enabled"`
	Ephemeral bool              `json:"ephemeral"`
	Cluster   string            `json:"clusterName"`
	Service   string            `json:"serviceName"`
	Metadata  map[string]string `json:"metadata"`
	LastBeat  time.Time         `json:"-"`
}

type fakeKey struct{ namespace, service, cluster, address string }

// NewFakeNacos returns a server that is UP, empty, offers light beats, asks for a
// beat every 5 s and for lists to be kept 3 s, and wants no login.
func NewFakeNacos() *FakeNacos {
	return &FakeNacos{
		instances:  make(map[fakeKey]*FakeInstance),
		lightBeats: true,
		beatMillis: 5000,
		cacheFor:   3 * time.Second,
	}
}

// SetLightBeats says whether beat replies offer light beats.
func (f *FakeNacos) SetLightBeats(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lightBeats = on
}

// SetBeatInterval sets the clientBeatInterval of the beat replies for instances
// whose metadata names none.
func (f *FakeNacos) SetBeatInterval(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.beatMillis = d.Milliseconds()
}

// SetCacheFor sets the cacheMillis of the lists.
func (f *FakeNacos) SetCacheFor(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cacheFor = d
}

// Wipe forgets every instance, as a restart does.
func (f *FakeNacos) Wipe() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.instances)
}

// Put stores an instance as if it had just registered; service is the grouped
// name. An empty cluster is DEFAULT.
func (f *FakeNacos) Put(namespace, service string, i FakeInstance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(namespace, service, i)
}

func (f *FakeNacos) put(namespace, service string, i FakeInstance) {
	i.Cluster = cmp.Or(i.Cluster, "DEFAULT")
	i.Service = service
	i.ID = fmt.Sprintf("%s#%d#%s#%s", i.IP, i.Port, i.Cluster, service)
	i.LastBeat = time.Now()
	if i.Metadata == nil {
		i.Metadata = map[string]string{}
	}
	f.instances[fakeKey{namespace, service, i.Cluster, i.address()}] = &i
}

// Remove takes an instance out; an empty cluster is DEFAULT.
func (f *FakeNacos) Remove(namespace, service, cluster, ip string, port int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := FakeInstance{IP: ip, Port: port}
	delete(f.instances, fakeKey{namespace, service, cmp.Or(cluster, "DEFAULT"), i.address()})
}

// Instances returns copies of what is stored of a grouped service, disabled
// instances included, sorted by id.
func (f *FakeNacos) Instances(namespace, service string) []FakeInstance {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expire()
	var found []FakeInstance
	for k, i := range f.instances {
		if k.namespace == namespace && k.service == service {
			c := *i
			c.Metadata = maps.Clone(i.Metadata)
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b FakeInstance) int { return cmp.Compare(a.ID, b.ID) })
	return found
}

func (i FakeInstance) address() string { return i.IP + ":" + strconv.Itoa(i.Port) }

// expire applies the timeouts of the metadata or the protocol's defaults.
func (f *FakeNacos) expire() {
	millis := func(i *FakeInstance, key string, def time.Duration) time.Duration {
		if ms, err := strconv.ParseInt(i.Metadata[key], 10, 64); err == nil {
			return time.Duration(ms) * time.Millisecond
		}
		return def
	}
	for k, i := range f.instances {
		if !i.Ephemeral {
			continue
		}
		silent := time.Since(i.LastBeat)
		if silent > millis(i, "preserved.ip.delete.timeout", 30*time.Second) {
			delete(f.instances, k)
		} else if silent > millis(i, "preserved.heart.beat.timeout", 15*time.Second) {
			i.Healthy = false
		}
	}
}

// ServeHTTP implements [http.Handler].
func (f *FakeNacos) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req, err := newRequest(r)
	if err != nil {
		http.Error(w, "caused: "+err.Error()+";", http.StatusBadRequest)
		return
	}
	fault := f.record(req)
	if fault != nil && fault.play(w, r) {
		return
	}
	status, body := f.answer(req)
	if body, isText := body.(string); isText {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
		return
	}
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// answer is the server proper: a status and either a text or a JSON value.
func (f *FakeNacos) answer(r Request) (int, any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expire()
	if r.Is(http.MethodPost, "/auth/users/login") || r.Is(http.MethodPost, "/auth/login") {
		return f.answerLogin(r)
	}
	if !f.login.admits(r.Param("accessToken")) {
		return http.StatusForbidden, map[string]any{"status": 403, "error": "Forbidden", "message": "token expired!"}
	}
	switch {
	case r.Is(http.MethodGet, "/ns/operator/metrics"):
		return http.StatusOK, map[string]any{"status": "UP"}
	case r.Is(http.MethodGet, "/ns/service/list"):
		return f.answerServices(r)
	case r.Is(http.MethodGet, "/ns/instance/list"):
		return f.answerList(r)
	case r.Is(http.MethodPut, "/ns/instance/beat"):
		return f.answerBeat(r)
	case r.Is(http.MethodPost, "/ns/instance"), r.Is(http.MethodPut, "/ns/instance"):
		i, err := instanceFrom(r)
		if err != nil {
			return http.StatusBadRequest, "caused: " + err.Error() + ";"
		}
		if old := f.instances[r.key()]; old != nil {
			i.Healthy = old.Healthy
		}
		f.put(r.namespace(), r.service(), i)
		return http.StatusOK, "ok"
	case r.Is(http.MethodDelete, "/ns/instance"):
		ephemeral := r.Param("ephemeral") != "false"
		if old := f.instances[r.key()]; old != nil && old.Ephemeral == ephemeral {
			delete(f.instances, r.key())
		}
		return http.StatusOK, "ok"
	}
	return http.StatusNotImplemented, map[string]any{"status": 501, "message": "no such api:" + r.Method + ":" + r.Path}
}

func instanceFrom(r Request) (FakeInstance, error) {
	port, err := strconv.Atoi(r.Param("port"))
	if err != nil {
		return FakeInstance{}, fmt.Errorf("port: %w", err)
	}
	weight, err := strconv.ParseFloat(cmp.Or(r.Param("weight"), "1"), 64)
	if err != nil {
		return FakeInstance{}, fmt.Errorf("weight: %w", err)
	}
	var metadata map[string]string
	if text := r.Param("metadata"); text != "" {
		if err := json.Unmarshal([]byte(text), &metadata); err != nil {
			return FakeInstance{}, fmt.Errorf("metadata: %w", err)
		}
	}
	return FakeInstance{
		IP: r.Param("ip"), Port: port, Weight: weight, Metadata: metadata,
		Healthy:   r.Param("healthy") != "false",
		Enabled:   cmp.Or(r.Param("enabled"), r.Param("enable")) != "false",
		Ephemeral: r.Param("ephemeral") != "false",
		Cluster:   r.cluster(),
	}, nil
}

func (f *FakeNacos) answerBeat(r Request) (int, any) {
	i := f.instances[r.key()]
	if i == nil {
		text := r.Param("beat")
		if text == "" {
			return http.StatusOK, map[string]any{"clientBeatInterval": f.beatMillis, "code": 20404}
		}
		var beat struct {
			IP       string
			Port     int
			Cluster  string
			Weight   float64
			Metadata map[string]string
		}
		if err := json.Unmarshal([]byte(text), &beat); err != nil {
			return http.StatusInternalServerError, "caused: " + err.Error() + ";"
		}
		f.put(r.namespace(), r.service(), FakeInstance{
			IP: beat.IP, Port: beat.Port, Cluster: beat.Cluster, Weight: beat.Weight,
			Metadata: beat.Metadata, Healthy: true, Enabled: true, Ephemeral: true,
		})
		i = f.instances[r.key()]
	}
	if i == nil {
		return http.StatusBadRequest, "caused: beat and query name different instances;"
	}
	i.LastBeat, i.Healthy = time.Now(), true
	interval := f.beatMillis
	if own, err := strconv.ParseInt(i.Metadata["preserved.heart.beat.interval"], 10, 64); err == nil {
		interval = own
	}
	return http.StatusOK, map[string]any{
		"clientBeatInterval": interval, "code": 10200, "lightBeatEnabled": f.lightBeats,
	}
}

func (f *FakeNacos) answerList(r Request) (int, any) {
	hosts := []FakeInstance{}
	for k, i := range f.instances {
		if k.namespace == r.namespace() && k.service == r.service() && i.Enabled {
			hosts = append(hosts, *i)
		}
	}
	slices.SortFunc(hosts, func(a, b FakeInstance) int { return cmp.Compare(a.ID, b.ID) })
	return http.StatusOK, f.List(r.service(), hosts)
}

// List returns the reply of instance/list for some hosts, as [encoding/json]
// encodes it; tests push it too.
func (f *FakeNacos) List(service string, hosts []FakeInstance) any {
	return map[string]any{
		"hosts": hosts, "dom": service, "name": service, "clusters": "", "env": "",
		"cacheMillis": f.cacheFor.Milliseconds(), "lastRefTime": time.Now().UnixMilli(),
		"checksum": "", "useSpecifiedURL": false, "metadata": map[string]string{},
	}
}

func (f *FakeNacos) answerServices(r Request) (int, any) {
	group := cmp.Or(r.Param("groupName"), "DEFAULT_GROUP") + "@@"
	names := map[string]bool{}
	for k := range f.instances {
		if name, ok := strings.CutPrefix(k.service, group); ok && k.namespace == r.namespace() {
			names[name] = true
		}
	}
	all := slices.Sorted(maps.Keys(names))
	page, _ := strconv.Atoi(r.Param("pageNo"))
	size, _ := strconv.Atoi(r.Param("pageSize"))
	from := min(max(page-1, 0)*size, len(all))
	doms := append([]string{}, all[from:min(from+size, len(all))]...)
	return http.StatusOK, map[string]any{"doms": doms, "count": len(all)}
}

func (r Request) namespace() string { return cmp.Or(r.Param("namespaceId"), "public") }

func (r Request) service() string {
	name := r.Param("serviceName")
	if strings.Contains(name, "@@") {
		return name
	}
	return cmp.Or(r.Param("groupName"), "DEFAULT_GROUP") + "@@" + name
}

func (r Request) cluster() string {
	return cmp.Or(r.Param("clusterName"), r.Param("cluster"), "DEFAULT")
}

func (r Request) key() fakeKey {
	return fakeKey{r.namespace(), r.service(), r.cluster(), r.Param("ip") + ":" + r.Param("port")}
}

var _ http.Handler = (*FakeNacos)(nil)
