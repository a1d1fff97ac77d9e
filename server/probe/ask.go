package probe

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// maxAnswer bounds how much of an HTTP answer is read; the body does not matter.
const maxAnswer = 64 << 10

// DialFunc opens a connection, like [net.Dialer.DialContext].
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

func (d DialFunc) connect(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	return d(ctx, "tcp", address)
}

// asker is a checker that is ready to be used, made once for all targets of a
// cluster.
type asker interface {
	// ask probes one address. It returns within about a second, or when ctx ends.
	ask(ctx context.Context, dial DialFunc, address string) verdict
}

// newAsker returns the asker of a checker; nil for one that asks nobody.
func newAsker(c Checker) (asker, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	switch c.kind() {
	case TCP:
		return tcpAsker{}, nil
	case HTTP:
		target, err := c.target()
		if err != nil {
			return nil, err
		}
		header, err := c.header()
		if err != nil {
			return nil, err
		}
		if header.Get("User-Agent") == "" {
			header.Set("User-Agent", "rollcall-probe")
		}
		return &httpAsker{target: target, header: header, expected: c.expected()}, nil
	case MySQL:
		return &mysqlAsker{user: c.User, password: c.Password, command: c.Command}, nil
	}
	return nil, nil
}

// tcpAsker wants a connection and nothing more.
type tcpAsker struct{}

func (tcpAsker) ask(ctx context.Context, dial DialFunc, address string) verdict {
	conn, err := dial.connect(ctx, address)
	if err != nil {
		return failure(err)
	}
	_ = conn.Close()
	return verdict{outcome: succeeded}
}

// httpAsker sends one GET on a connection of its own and reads the status. It
// follows no redirect: the target itself is asked, not whom it names.
type httpAsker struct {
	target   *url.URL
	header   http.Header
	expected int
}

func (a *httpAsker) ask(ctx context.Context, dial DialFunc, address string) verdict {
	conn, err := dial.connect(ctx, address)
	if err != nil {
		return failure(err)
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err := conn.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return failure(err)
	}
	status, err := a.exchange(conn, address)
	switch {
	case err != nil:
		return failure(err)
	case status == a.expected:
		return verdict{outcome: succeeded}
	case status == http.StatusServiceUnavailable, status == http.StatusFound:
		return verdict{outcome: overloaded}
	}
	return verdict{outcome: unwelcome, atOnce: true}
}

// exchange returns the status of the answer.
func (a *httpAsker) exchange(conn net.Conn, address string) (int, error) {
	r := &http.Request{
		Method: http.MethodGet, URL: a.target, Host: address, Header: a.header, Close: true,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if host := a.header.Get("Host"); host != "" {
		r.Host = host
	}
	if err := r.Write(conn); err != nil {
		return 0, err
	}
	answer := bufio.NewReader(io.LimitReader(conn, maxAnswer))
	for {
		response, err := http.ReadResponse(answer, r)
		if err != nil {
			return 0, err
		}
		if response.StatusCode >= http.StatusOK {
			return response.StatusCode, nil
		}
		// What comes before the answer, such as early hints; maxAnswer ends it.
	}
}
