package discovery

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/rollcall-go/rollcall/registry"
)

const (
	// fileFormat is the version of the files. One of another version is not read, and
	// stays until a newer list takes its place.
	fileFormat = 1
	// fileSuffix ends the name of each file, corruptSuffix that of one set aside.
	fileSuffix    = ".json"
	corruptSuffix = ".corrupt"
	// maxFileName is what file systems allow, less what a temporary file adds.
	maxFileName = 200
)

// errFormat says that a file is of a version this one does not know.
var errFormat = errors.New("the format of the file is not known")

// listFile is a file with the list of one service.
type listFile struct {
	Format int `json:"format"`
	// Checksum is the SHA-256 of List without white space, in hexadecimal. A file
	// that an operator wrote may be without.
	Checksum string          `json:"checksum,omitempty"`
	List     json.RawMessage `json:"list"`
}

type fileList struct {
	Namespace string         `json:"namespace,omitempty"`
	Group     string         `json:"group,omitempty"`
	Name      string         `json:"name"`
	Instances []fileInstance `json:"instances"`
}

type fileInstance struct {
	ID        string            `json:"id,omitempty"`
	IP        string            `json:"ip"`
	Port      int               `json:"port"`
	Cluster   string            `json:"cluster,omitempty"`
	Weight    float64           `json:"weight"`
	Healthy   bool              `json:"healthy"`
	Enabled   bool              `json:"enabled"`
	Ephemeral bool              `json:"ephemeral"`
	Metadata  map[string]string `json:"metadata,omitempty"`
}

// UnmarshalJSON fills in what a hand-written file leaves out, as a registration
// would have it.
func (i *fileInstance) UnmarshalJSON(text []byte) error {
	type plain fileInstance
	p := plain{Weight: 1, Healthy: true, Enabled: true, Ephemeral: true}
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	*i = fileInstance(p)
	return nil
}

// encodeList returns a file and its checksum.
func encodeList(id registry.ServiceID, instances []registry.Instance) (text []byte, checksum string, err error) {
	list := fileList{Namespace: id.Namespace, Group: id.Group, Name: id.Name, Instances: make([]fileInstance, len(instances))}
	for n, i := range instances {
		list.Instances[n] = fileInstance{
			ID: i.ID, IP: i.IP, Port: i.Port, Cluster: i.Cluster, Weight: i.Weight,
			Healthy: i.Healthy, Enabled: i.Enabled, Ephemeral: i.Ephemeral, Metadata: i.Metadata,
		}
	}
	body, err := json.Marshal(list)
	if err != nil {
		return nil, "", err
	}
	checksum = sum(body)
	text, err = json.Marshal(listFile{Format: fileFormat, Checksum: checksum, List: body})
	return append(text, '\n'), checksum, err
}

// decodeList reads a file. Only an operator's may be without a checksum.
func decodeList(text []byte, byHand bool) (id registry.ServiceID, instances []registry.Instance, checksum string, err error) {
	fail := func(err error) (registry.ServiceID, []registry.Instance, string, error) {
		return registry.ServiceID{}, nil, "", err
	}
	var f listFile
	if err := json.Unmarshal(text, &f); err != nil {
		return fail(err)
	}
	if f.Format != fileFormat {
		return fail(fmt.Errorf("%w: %d", errFormat, f.Format))
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, f.List); err != nil {
		return fail(err)
	}
	checksum = sum(compact.Bytes())
	if f.Checksum != checksum && (f.Checksum != "" || !byHand) {
		return fail(errors.New("the checksum is wrong"))
	}
	var list fileList
	if err := json.Unmarshal(f.List, &list); err != nil {
		return fail(err)
	}
	id = registry.ServiceID{Namespace: list.Namespace, Group: list.Group, Name: list.Name}.Normalize()
	if id.Name == "" {
		return fail(errors.New("the service has no name"))
	}
	instances = make([]registry.Instance, len(list.Instances))
	for n, i := range list.Instances {
		if i.IP == "" || i.Port < 0 || i.Port > 65535 {
			return fail(fmt.Errorf("instance %d has no address: %q, port %d", n, i.IP, i.Port))
		}
		instances[n] = registry.Instance{
			ID: i.ID, Service: id, IP: i.IP, Port: i.Port, Cluster: i.Cluster, Weight: i.Weight,
			Healthy: i.Healthy, Enabled: i.Enabled, Ephemeral: i.Ephemeral, Metadata: i.Metadata,
		}
	}
	return id, instances, checksum, nil
}

func sum(body []byte) string {
	hash := sha256.Sum256(body)
	return hex.EncodeToString(hash[:])
}

// fileName is "GROUP@@name.json", with what does not belong into a file name
// escaped, for services of the client's own namespace, and
// "namespace@@GROUP@@name.json" for others. The separator is never in an escaped
// part, so that two services never share a file.
func fileName(own string, id registry.ServiceID) string {
	name := url.QueryEscape(id.Group) + groupSeparator + url.QueryEscape(id.Name)
	if id.Namespace != own {
		name = url.QueryEscape(id.Namespace) + groupSeparator + name
	}
	return shorten(name) + fileSuffix
}

// shorten has a name that is too long for a file end in a hash of it.
func shorten(name string) string {
	if len(name) <= maxFileName {
		return name
	}
	return name[:maxFileName-64] + sum([]byte(name))
}
