package probe

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// mysqlServer speaks as much of MySQL's protocol as a probe hears: greeting,
// login, one query (MySQL internals: connection phase, text protocol).
type mysqlServer struct {
	// deny refuses the login, hang never answers the query.
	deny, hang bool
	// fail answers the query with an error, row with a row; otherwise it is OK.
	fail bool
	row  []string

	queries chan string
}

func (s *mysqlServer) dial(context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go func() {
		defer func() { _ = theirs.Close() }()
		_ = s.serve(theirs)
	}()
	return ours, nil
}

func (s *mysqlServer) serve(conn net.Conn) error {
	in := bufio.NewReader(conn)
	greeting := append([]byte{10}, "8.0.0-fake\x00"...)
	greeting = binary.LittleEndian.AppendUint32(greeting, 1)
	greeting = append(greeting, "12345678\x00"...)
	const capabilities = 0x0008a201 // long password, protocol 41, transactions, secure connection, plugin auth
	greeting = binary.LittleEndian.AppendUint16(greeting, capabilities&0xffff)
	greeting = append(greeting, 33, 2, 0)
	greeting = binary.LittleEndian.AppendUint16(greeting, capabilities>>16)
	greeting = append(greeting, 21)
	greeting = append(greeting, make([]byte, 10)...)
	greeting = append(greeting, "123456789012\x00mysql_native_password\x00"...)
	if err := send(conn, 0, greeting); err != nil {
		return err
	}
	if _, err := receive(in); err != nil {
		return err
	}
	ok := []byte{0, 0, 0, 2, 0, 0, 0}
	denied := append([]byte{0xff, 0x15, 0x04}, "#28000Access denied"...)
	if s.deny {
		return send(conn, 2, denied)
	}
	if err := send(conn, 2, ok); err != nil {
		return err
	}
	query, err := receive(in)
	if err != nil || len(query) == 0 || query[0] != 3 {
		return err
	}
	s.queries <- string(query[1:])
	switch {
	case s.hang:
	case s.fail:
		err = send(conn, 1, append([]byte{0xff, 0x7a, 0x04}, "#42S02Table is not there"...))
	case s.row == nil:
		err = send(conn, 1, ok)
	default:
		err = s.answer(conn)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	return err
}

func (s *mysqlServer) answer(conn net.Conn) error {
	end := []byte{0xfe, 0, 0, 2, 0}
	sequence := byte(1)
	packets := [][]byte{{byte(len(s.row))}}
	var row []byte
	for _, value := range s.row {
		column := append([]byte{3}, "def"...)
		column = append(column, 0, 0, 0, 1, 'c', 0, 12, 33, 0, 0xff, 0, 0, 0, 0xfd, 0, 0, 0, 0, 0)
		packets = append(packets, column)
		row = append(append(row, byte(len(value))), value...)
	}
	for _, p := range append(packets, end, row, end) {
		if err := send(conn, sequence, p); err != nil {
			return err
		}
		sequence++
	}
	return nil
}

func send(w io.Writer, sequence byte, payload []byte) error {
	n := len(payload)
	_, err := w.Write(append([]byte{byte(n), byte(n >> 8), byte(n >> 16), sequence}, payload...))
	return err
}

func receive(r io.Reader) (payload []byte, err error) {
	var head [4]byte
	if _, err = io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	payload = make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
	_, err = io.ReadFull(r, payload)
	return payload, err
}

func TestMySQL_Answers(t *testing.T) {
	variable := func(value string) []string { return []string{"read_only", value} }
	for _, tt := range []struct {
		name    string
		server  mysqlServer
		command string
		want    verdict
	}{
		{"a row", mysqlServer{row: []string{"1"}}, "select 1", verdict{outcome: succeeded}},
		{"no answer but OK", mysqlServer{}, "do 1", verdict{outcome: succeeded}},
		{"written to", mysqlServer{row: variable("OFF")}, readOnlyCommand, verdict{outcome: succeeded}},
		{"read only", mysqlServer{row: variable("ON")}, readOnlyCommand, verdict{outcome: readOnly}},
		{"read only, another spelling", mysqlServer{row: variable("ON")}, readOnlyCommand + " ", verdict{outcome: readOnly}},
		{"read only, not asked for", mysqlServer{row: variable("ON")}, "show global variables like 'read_only'", verdict{outcome: succeeded}},
		{"error", mysqlServer{fail: true}, "select * from nowhere", verdict{outcome: unwelcome, atOnce: true}},
		{"login refused", mysqlServer{deny: true}, "select 1", verdict{outcome: unwelcome, atOnce: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.server.queries = make(chan string, 1)
				n := newNetwork()
				n.set(local(1), tt.server.dial)
				c, err := ParseChecker(`{"type":"MYSQL","user":"probe","pwd":"secret","cmd":"` + tt.command + `"}`)
				require.NoError(t, err)
				require.Equal(t, tt.want, ask(t, c, n.dial, local(1)))
				if !tt.server.deny {
					require.Equal(t, c.Command, <-tt.server.queries)
				}
			})
		})
	}
}

// Whatever the driver calls an error is one at once, as in Nacos.
func TestMySQL_NoAnswer(t *testing.T) {
	c := Checker{Type: MySQL, Command: "select 1"}
	for _, tt := range []struct {
		name   string
		answer func(context.Context) (net.Conn, error)
		want   outcome
		within time.Duration
	}{
		{"refused", refusal, refused, 0},
		{"closes", accept, broken, 0},
		{"unreachable", unreachable, broken, 0},
		{"silent", silence, timedOut, connectTimeout},
		{"fails", func(context.Context) (net.Conn, error) { return nil, errors.New("no network") }, broken, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork()
				n.set(local(1), tt.answer)
				begin := time.Now()
				require.Equal(t, verdict{outcome: tt.want, atOnce: true}, ask(t, c, n.dial, local(1)))
				require.Equal(t, tt.within, time.Since(begin))
			})
		})
	}
}

func TestMySQL_HangsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mysqlServer{hang: true, queries: make(chan string, 1)}
		n := newNetwork()
		n.set(local(1), server.dial)
		n.set(local(2), func(context.Context) (net.Conn, error) { // not even a greeting
			ours, theirs := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, theirs) }()
			return ours, nil
		})
		for _, address := range []string{local(1), local(2)} {
			begin := time.Now()
			v := ask(t, Checker{Type: MySQL, Command: "select sleep(100)"}, n.dial, address)
			require.NotEqual(t, succeeded, v.outcome)
			require.True(t, v.atOnce)
			require.LessOrEqual(t, time.Since(begin), connectTimeout+answerTimeout)
		}
	})
}

// Whoever pours out bytes is not listened to until the time is up, and none of them
// is kept.
func TestMySQL_EndlessAnswer(t *testing.T) {
	for name, begins := range map[string][]byte{
		"a greeting":       {0xff, 0xff, 0xff, 0},
		"another protocol": []byte("HTTP/1.1 200 OK\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, poured := newNetwork(), make(chan int, 1)
				n.set(local(1), func(context.Context) (net.Conn, error) {
					ours, theirs := net.Pipe()
					go func() {
						defer func() { _ = theirs.Close() }()
						total, err := theirs.Write(begins)
						for err == nil {
							var more int
							more, err = theirs.Write(bytes.Repeat([]byte{0xff}, 64<<10))
							total += more
						}
						poured <- total
					}()
					return ours, nil
				})
				v := ask(t, Checker{Type: MySQL, Command: "select 1"}, n.dial, local(1))
				require.NotEqual(t, succeeded, v.outcome)
				require.LessOrEqual(t, <-poured, maxMySQLAnswer)
			})
		})
	}
}

// A replica that becomes the one that is written to is well again.
func TestMySQL_Failover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t)
		server := &mysqlServer{row: []string{"read_only", "ON"}, queries: make(chan string, 1000)}
		f.net.set(local(1), server.dial)
		c := Checker{Type: MySQL, User: "probe", Password: "secret", Command: readOnlyCommand}
		require.NoError(t, f.Set(cluster1("db"), c, 0, []Target{healthy(1)}))
		time.Sleep(3 * time.Second)
		require.Empty(t, f.results.healthy(1), "it counts")
		time.Sleep(30 * time.Second)
		require.Equal(t, []bool{false}, f.results.healthy(1))

		f.net.set(local(1), (&mysqlServer{row: []string{"read_only", "OFF"}, queries: server.queries}).dial)
		time.Sleep(30 * time.Second)
		require.Equal(t, []bool{false, true}, f.results.healthy(1))
	})
}
