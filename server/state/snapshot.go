package state

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/rollcall-go/rollcall/internal/wire"
)

// A snapshot is a sequence of JSON documents, one to a line: a head, the records
// sorted by kind and key, and an end that counts them. The same state always
// makes the same bytes.
const (
	snapshotFormat  = "rollcall-state"
	snapshotVersion = 1
)

// record is a line of a snapshot: exactly one member is set.
type record struct {
	Head       *snapshotHead `json:"head,omitempty"`
	Namespace  *Namespace    `json:"namespace,omitempty"`
	Service    *Service      `json:"service,omitempty"`
	Cluster    *Cluster      `json:"cluster,omitempty"`
	Instance   *Instance     `json:"instance,omitempty"`
	User       *User         `json:"user,omitempty"`
	Role       *Role         `json:"role,omitempty"`
	Permission *Permission   `json:"permission,omitempty"`
	Secret     *Secret       `json:"secret,omitempty"`
	Switches   *Switches     `json:"switches,omitempty"`
	End        *snapshotEnd  `json:"end,omitempty"`
}

type snapshotHead struct {
	Format  string `json:"format"`
	Version int    `json:"v"`
	Applied uint64 `json:"applied"`
}

type snapshotEnd struct {
	Records int `json:"records"`
}

// WriteTo implements [io.WriterTo]: the state in the form that [State.Restore]
// reads.
func (v *View) WriteTo(w io.Writer) (int64, error) {
	s := &snapshotWriter{w: bufio.NewWriterSize(w, 64<<10)}
	s.put(record{Head: &snapshotHead{Format: snapshotFormat, Version: snapshotVersion, Applied: v.applied}})
	s.records = 0
	for n := range v.Namespaces() {
		s.put(record{Namespace: n})
	}
	for x := range v.Services() {
		s.put(record{Service: x})
	}
	for c := range v.AllClusters() {
		s.put(record{Cluster: c})
	}
	for i := range v.AllInstances() {
		s.put(record{Instance: i})
	}
	for u := range v.Users() {
		s.put(record{User: u})
	}
	for r := range v.AllRoles() {
		s.put(record{Role: r})
	}
	for p := range v.AllPermissions() {
		s.put(record{Permission: p})
	}
	for x := range walk(v.secrets, nil) {
		s.put(record{Secret: x})
	}
	if v.switches.Revision > 0 {
		s.put(record{Switches: &v.switches})
	}
	s.put(record{End: &snapshotEnd{Records: s.records}})
	if s.err == nil {
		s.err = s.w.Flush()
	}
	if s.err != nil {
		return s.written, fmt.Errorf("write the state: %w", s.err)
	}
	return s.written, nil
}

type snapshotWriter struct {
	w       *bufio.Writer
	written int64
	records int
	err     error
}

func (s *snapshotWriter) put(r record) {
	if s.err != nil {
		return
	}
	line, err := wire.Marshal(r)
	if err == nil {
		_, err = s.w.Write(append(line, '\n'))
	}
	s.written += int64(len(line)) + 1
	s.records++
	s.err = err
}

var errNotASnapshot = errors.New("this is not a snapshot of the server's state")

// readView reads a snapshot.
func readView(r io.Reader) (*View, error) {
	lines := lineReader{r: bufio.NewReaderSize(r, 64<<10), plain: plain{shared: make(map[string]string)}}
	var first record
	if err := lines.next(&first); err != nil || first.Head == nil || first.Head.Format != snapshotFormat {
		return nil, errors.Join(errNotASnapshot, err)
	}
	if first.Head.Version != snapshotVersion {
		return nil, &UnknownCommandError{Tag: snapshotFormat, Version: first.Head.Version}
	}
	l := newLoader()
	var next record
	for n := 0; ; n++ {
		next = record{}
		if err := lines.next(&next); err != nil {
			return nil, fmt.Errorf("read record %d of the state: %w", n+1, err)
		}
		if next.End != nil {
			if next.End.Records != n {
				return nil, fmt.Errorf("read the state: %d records of %d", n, next.End.Records)
			}
			if _, err := lines.r.ReadByte(); !errors.Is(err, io.EOF) {
				return nil, errors.New("read the state: something follows its end")
			}
			return l.view(first.Head.Applied), nil
		}
		if err := l.add(&next); err != nil {
			return nil, fmt.Errorf("read record %d of the state: %w", n+1, err)
		}
	}
}

// lineReader reads records.
type lineReader struct {
	r     *bufio.Reader
	long  []byte // a line that is longer than the reader's buffer
	plain plain
}

// next reads the next record. An end without one is [io.ErrUnexpectedEOF].
func (l *lineReader) next(next *record) error {
	line, err := l.r.ReadSlice('\n')
	for l.long = l.long[:0]; errors.Is(err, bufio.ErrBufferFull); {
		l.long = append(l.long, line...)
		line, err = l.r.ReadSlice('\n')
	}
	if len(l.long) > 0 {
		l.long = append(l.long, line...)
		line = l.long
	}
	switch {
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	}
	line = line[:len(line)-1]
	l.plain.begin(line)
	if l.plain.skip(`{"instance":`) {
		i := new(Instance)
		l.plain.instance(i)
		l.plain.literal(`}`)
		if l.plain.done() {
			next.Instance = i
			return nil
		}
	}
	return unmarshalStrictly(line, next)
}

// loader fills the trees of a view, each in one transaction.
type loader struct {
	instances   *iradix.Txn[*Instance]
	services    *iradix.Txn[*Service]
	clusters    *iradix.Txn[*Cluster]
	namespaces  *iradix.Txn[*Namespace]
	users       *iradix.Txn[*User]
	roles       *iradix.Txn[*Role]
	permissions *iradix.Txn[*Permission]
	secrets     *iradix.Txn[*Secret]
	switches    Switches
}

func newLoader() *loader {
	v := newView()
	return &loader{
		instances: v.instances.Txn(), services: v.services.Txn(), clusters: v.clusters.Txn(),
		namespaces: v.namespaces.Txn(), users: v.users.Txn(), roles: v.roles.Txn(),
		permissions: v.permissions.Txn(), secrets: v.secrets.Txn(),
	}
}

func (l *loader) add(r *record) error {
	switch {
	case r.Instance != nil:
		l.instances.Insert(instanceKey(r.Instance.Service, r.Instance.InstanceKey), r.Instance)
	case r.Service != nil:
		l.services.Insert(serviceKey(r.Service.Key), r.Service)
	case r.Cluster != nil:
		l.clusters.Insert(clusterKey(r.Cluster.Service, r.Cluster.Name), r.Cluster)
	case r.Namespace != nil:
		l.namespaces.Insert(join(r.Namespace.ID), r.Namespace)
	case r.User != nil:
		l.users.Insert(join(r.User.Name), r.User)
	case r.Role != nil:
		l.roles.Insert(join(r.Role.User, r.Role.Role), r.Role)
	case r.Permission != nil:
		l.permissions.Insert(join(r.Permission.Role, r.Permission.Resource, r.Permission.Action), r.Permission)
	case r.Secret != nil:
		l.secrets.Insert(join(r.Secret.Name), r.Secret)
	case r.Switches != nil:
		l.switches = *r.Switches
	default:
		return errors.New("it is empty")
	}
	return nil
}

func (l *loader) view(applied uint64) *View {
	return &View{
		applied:   applied,
		instances: l.instances.CommitOnly(), services: l.services.CommitOnly(), clusters: l.clusters.CommitOnly(),
		namespaces: l.namespaces.CommitOnly(), users: l.users.CommitOnly(), roles: l.roles.CommitOnly(),
		permissions: l.permissions.CommitOnly(), secrets: l.secrets.CommitOnly(), switches: l.switches,
	}
}
